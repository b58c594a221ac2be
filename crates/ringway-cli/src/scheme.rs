//! A scheme given on the command line.

use ringway::scheme::{AnyScheme, OptionValue, SchemeOptions};

use crate::Failure;

/// A scheme in place of the cluster file's.
#[derive(Debug, clap::Args)]
pub struct SchemeArgs {
    /// Place by this scheme and not by the cluster file's; the file's options don't apply to it
    #[arg(long, value_name = "NAME", value_parser = known)]
    scheme: Option<String>,
    /// Option of the scheme, by its name in cluster files
    #[arg(long, value_name = "NAME=VALUE", requires = "scheme", value_parser = named_value)]
    scheme_option: Vec<(String, String)>,
}

impl SchemeArgs {
    /// The scheme to place by: the one given, or else the file's.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the scheme takes no such option or no such value.
    pub fn or(&self, of_file: AnyScheme) -> Result<AnyScheme, Failure> {
        let Some(name) = &self.scheme else { return Ok(of_file) };
        // A command line has no types: what looks like a number or a boolean is tried as one first, and as text where
        // the scheme doesn't take it so.
        let mut texts = Vec::new();
        let mut first = None;
        loop {
            let mut options = SchemeOptions::new();
            for (option, value) in &self.scheme_option {
                let value = if texts.contains(option) { value.as_str().into() } else { typed(value) };
                options.insert(option.clone(), value);
            }
            let error = match AnyScheme::named(name, &mut options) {
                Ok(Some(scheme)) => {
                    return match options.iter().next() {
                        None => Ok(scheme),
                        Some((unknown, _)) => Err(Failure::Usage(format!(
                            "--scheme-option {unknown:?}: scheme {name:?} doesn't take such an option"
                        ))),
                    };
                }
                Ok(None) => return Err(Failure::Usage(unknown(name))),
                Err(error) => error,
            };
            let given = self.scheme_option.iter().rfind(|(option, _)| *option == error.name);
            let as_text = given
                .is_none_or(|(option, value)| texts.contains(option) || matches!(typed(value), OptionValue::Text(_)));
            if as_text {
                return Err(Failure::Usage(format!("--scheme-option {}", first.unwrap_or(error))));
            }
            texts.push(error.name.to_owned());
            first = first.or(Some(error));
        }
    }
}

fn typed(value: &str) -> OptionValue {
    match (value, value.parse()) {
        ("true", _) => true.into(),
        ("false", _) => false.into(),
        // "+5" would parse as well.
        (_, Ok(number)) if value.bytes().all(|byte| byte.is_ascii_digit()) => OptionValue::Integer(number),
        _ => value.into(),
    }
}

fn known(name: &str) -> Result<String, String> {
    if AnyScheme::names().any(|known| known == name) { Ok(name.to_owned()) } else { Err(unknown(name)) }
}

fn unknown(name: &str) -> String {
    format!("unknown scheme {name:?}; the schemes are {}", AnyScheme::names().collect::<Vec<_>>().join(", "))
}

fn named_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give NAME=VALUE".to_owned()),
    }
}
