// Two rings as C++ programs write them by hand: a std::map from points to names, and a sorted vector. Virtual nodes are
// "name-number"; points are the top half of a 64-bit Murmur hash.
//
// Memory is counted by the containers' allocator, as the Rust side's counting allocator doesn't see it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// What both rings hold, in bytes, and the most it was. Plain: one thread builds and changes rings.
std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;

template <class T>
struct Counting {
    using value_type = T;

    Counting() = default;
    template <class U>
    Counting(const Counting<U>&) {}

    T* allocate(std::size_t n) {
        live_bytes += n * sizeof(T);
        peak_bytes = std::max(peak_bytes, live_bytes);
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) {
        live_bytes -= n * sizeof(T);
        std::allocator<T>().deallocate(p, n);
    }
    template <class U>
    bool operator==(const Counting<U>&) const { return true; }
    template <class U>
    bool operator!=(const Counting<U>&) const { return false; }
};

// The 64-bit Murmur hash for 64-bit processors (MurmurHash64A, Austin Appleby, 2008), for little-endian ones.
std::uint64_t murmur(std::string_view bytes) {
    constexpr std::uint64_t m = 0xc6a4a7935bd1e995u;
    constexpr int r = 47;
    const char* at = bytes.data();
    std::uint64_t h = 0x9747b28cu ^ (bytes.size() * m);
    for (std::size_t left = bytes.size() / 8; left != 0; --left, at += 8) {
        std::uint64_t k;
        std::memcpy(&k, at, 8);
        k *= m;
        k ^= k >> r;
        h = (h ^ (k * m)) * m;
    }
    if (std::size_t rest = bytes.size() % 8) {
        std::uint64_t k = 0;
        std::memcpy(&k, at, rest);
        h = (h ^ k) * m;
    }
    h = (h ^ (h >> r)) * m;
    return h ^ (h >> r);
}

std::uint32_t point(std::string_view bytes) { return static_cast<std::uint32_t>(murmur(bytes) >> 32); }

std::uint32_t label_point(std::string_view name, std::uint32_t number) {
    std::string label(name);
    label += '-';
    label += std::to_string(number);
    return point(label);
}

class MapRing {
public:
    explicit MapRing(std::uint32_t points) : points_(points) {}

    void add(std::string_view name) {
        for (std::uint32_t number = 0; number < points_; ++number) ring_.emplace(label_point(name, number), name);
    }

    void remove(std::string_view name) {
        for (std::uint32_t number = 0; number < points_; ++number) {
            auto found = ring_.find(label_point(name, number));
            if (found != ring_.end() && found->second == name) ring_.erase(found);
        }
    }

    void settle() {}

    const std::string& owner(std::string_view key) const {
        auto found = ring_.lower_bound(point(key));
        return found == ring_.end() ? ring_.begin()->second : found->second;
    }

private:
    std::uint32_t points_;
    std::map<std::uint32_t, std::string, std::less<std::uint32_t>, Counting<std::pair<const std::uint32_t, std::string>>>
        ring_;
};

class VectorRing {
public:
    explicit VectorRing(std::uint32_t points) : points_(points) {}

    // Points are appended here; `settle` brings them into order.
    void add(std::string_view name) {
        if (vacant_.empty()) {
            vacant_.push_back(static_cast<std::uint32_t>(names_.size()));
            names_.emplace_back();
        }
        auto node = vacant_.back();
        vacant_.pop_back();
        names_[node] = name;
        for (std::uint32_t number = 0; number < points_; ++number) ring_.push_back({label_point(name, number), node});
    }

    void remove(std::string_view name) {
        auto found = std::find(names_.begin(), names_.end(), name);
        if (found == names_.end()) return;
        auto node = static_cast<std::uint32_t>(found - names_.begin());
        found->clear();
        vacant_.push_back(node);
        ring_.erase(std::remove_if(ring_.begin(), ring_.end(), [&](const Entry& entry) { return entry.node == node; }),
                    ring_.end());
        sorted_ = ring_.size();
    }

    // Sorts what was added and merges it in: faster for one node than sorting all anew.
    void settle() {
        auto middle = ring_.begin() + static_cast<std::ptrdiff_t>(sorted_);
        std::sort(middle, ring_.end());
        std::inplace_merge(ring_.begin(), middle, ring_.end());
        sorted_ = ring_.size();
    }

    const std::string& owner(std::string_view key) const {
        auto found = std::lower_bound(ring_.begin(), ring_.end(), point(key),
                                      [](const Entry& entry, std::uint32_t x) { return entry.point < x; });
        return names_[(found == ring_.end() ? ring_.begin() : found)->node];
    }

private:
    struct Entry {
        std::uint32_t point;
        std::uint32_t node;
        bool operator<(const Entry& other) const {
            return point != other.point ? point < other.point : node < other.node;
        }
    };

    std::uint32_t points_;
    std::size_t sorted_ = 0;
    std::vector<Entry, Counting<Entry>> ring_;
    std::vector<std::string, Counting<std::string>> names_;
    std::vector<std::uint32_t> vacant_;
};

}  // namespace

// One set of functions per ring. Names and keys are UTF-8 with a length. `owner` gives the owner's std::string, unread;
// the ring must not be empty. `name` reads it: the characters, and their number in `length`.
#define RING(ring, Type)                                                                                               \
    void* ring##_new(std::uint32_t points) { return new Type(points); }                                                \
    void ring##_free(void* self) { delete static_cast<Type*>(self); }                                                  \
    void ring##_add(void* self, const char* name, std::size_t length) {                                                \
        static_cast<Type*>(self)->add({name, length});                                                                 \
    }                                                                                                                  \
    void ring##_settle(void* self) { static_cast<Type*>(self)->settle(); }                                             \
    void ring##_remove(void* self, const char* name, std::size_t length) {                                             \
        static_cast<Type*>(self)->remove({name, length});                                                              \
    }                                                                                                                  \
    const void* ring##_owner(const void* self, const char* key, std::size_t length) {                                  \
        return &static_cast<const Type*>(self)->owner({key, length});                                                  \
    }

extern "C" {
RING(peer_map, MapRing)
RING(peer_vector, VectorRing)

const char* peer_name(const void* owner, std::size_t* length) {
    const auto& name = *static_cast<const std::string*>(owner);
    *length = name.size();
    return name.data();
}

std::size_t peer_live_bytes() { return live_bytes; }

// The most since the last call.
std::size_t peer_take_peak_bytes() { return std::exchange(peak_bytes, live_bytes); }
}
