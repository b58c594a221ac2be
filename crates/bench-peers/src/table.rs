//! Tables for people: aligned text, and Markdown.

use std::fmt::Write;

/// A table whose first column is text, as is one named "remarks"; the others are numbers.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(ToString::to_string).collect()] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "a row has a cell for each column");
        self.rows.push(cells);
    }

    pub fn to_text(&self) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let is_text = column == 0 || self.rows[0][column] == "remarks";
                let cell = if is_text { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
                line.push_str(&cell);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            writeln!(text, "| {} |", row.join(" | ")).expect("writing to a string");
            if number == 0 {
                writeln!(text, "|{}", "---|".repeat(row.len())).expect("writing to a string");
            }
        }
        text
    }
}
