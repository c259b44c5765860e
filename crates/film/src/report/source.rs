//! The shot's text as HTML: line numbers, and colours for headers, keys, strings and comments.

use super::plot::escape;

/// An ordered list of lines.
pub(super) fn html(text: &str) -> String {
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format!("<li>{}</li>", colored(line))).collect();
    format!("<ol class=\"source\">{}</ol>", lines.concat())
}

fn colored(line: &str) -> String {
    let span = |class: &str, text: &str| match text {
        "" => String::new(),
        text => format!("<span class=\"{class}\">{}</span>", escape(text)),
    };
    let (code, comment) = line.split_at(comment_start(line));
    if code.trim_start().starts_with('[') && !code.contains('=') {
        return span("header", code) + &span("comment", comment);
    }
    let (key, value) = match code.split_once('=') {
        Some((key, value)) => (format!("{}=", span("name", key)), value),
        None => (String::new(), code),
    };
    let mut colored = key;
    let mut rest = value;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = &rest[start..start + 1];
        let end = rest[start + 1..].find(quote).map_or(rest.len(), |at| start + 1 + at + 1);
        colored += &escape(&rest[..start]);
        colored += &span("string", &rest[start..end]);
        rest = &rest[end..];
    }
    colored + &escape(rest) + &span("comment", comment)
}

/// Where a comment begins: the first `#` outside quotes, or the end.
fn comment_start(line: &str) -> usize {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return at,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_coloured_and_escaped() {
        assert_eq!(
            colored("a = \"<#>\" # why"),
            "<span class=\"name\">a </span>= <span class=\"string\">&quot;&lt;#&gt;&quot;</span> <span class=\"comment\"># why</span>"
        );
        assert_eq!(colored("[[layer]]"), "<span class=\"header\">[[layer]]</span>");
        assert_eq!(
            colored("x = \"unclosed"),
            "<span class=\"name\">x </span>= <span class=\"string\">&quot;unclosed</span>"
        );
    }
}
