//! An example of a configuration file, from the definition of the command line.

use std::fmt::Write;

use clap::{Arg, ArgAction, CommandFactory};

use super::{is_key, is_of_output, live};
use crate::args::{Arguments, Category};

/// Longest line of a comment, in characters.
const WIDTH: usize = 100;

/// Returns a file with each option of `live` as a comment: its help, and its default or the form of its value.
pub(crate) fn example() -> String {
    let mut program = Arguments::command();
    program.build();
    let mut text = String::from(
        "# Configuration of `huginn-net live --config FILE`. Each key is a long option; options on the command line win.\n\
         # A key with a comment sign has its default, or the form of its value.\n",
    );
    let arguments = || live(&program).into_iter().flat_map(|live| live.get_arguments());
    for category in &Category::ALL {
        let mut heading = Some(category.heading);
        for argument in
            arguments().filter(|argument| is_key(argument) && Category::of(argument) == Some(category))
        {
            if let Some(heading) = heading.take() {
                let _ = writeln!(text, "\n## {heading}");
            }
            write_argument(&mut text, argument);
        }
    }
    let _ = writeln!(
        text,
        "\n## Several outputs, each with a table: these keys, and for the others those above\n"
    );
    text.push_str("#[[output]]\n");
    for argument in arguments().filter(|argument| is_of_output(argument)) {
        let key = argument.get_long().unwrap_or_default();
        let _ = writeln!(text, "#{key} = {}", value(argument));
    }
    text
}

fn write_argument(text: &mut String, argument: &Arg) {
    let key = argument.get_long().unwrap_or_default();
    text.push('\n');
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    write_comment(text, &help);
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && !matches!(argument.get_action(), ArgAction::SetTrue))
        .map(|value| value.get_name().to_owned())
        .collect();
    if !values.is_empty() {
        write_comment(text, &format!("Values: {}", values.join(", ")));
    }
    let _ = writeln!(text, "#{key} = {}", value(argument));
}

fn write_comment(text: &mut String, comment: &str) {
    let mut line = String::from("#");
    for word in comment.split_whitespace() {
        if line.chars().count().saturating_add(word.chars().count()) >= WIDTH {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

/// The default of an option, or the form of its value.
fn value(argument: &Arg) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return "false".to_owned();
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .flat_map(|value| {
            let delimiter = argument.get_value_delimiter().unwrap_or('\0');
            value.to_string_lossy().split(delimiter).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let forms = || argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let values: Vec<String> = if defaults.is_empty() { forms() } else { defaults };
    let texts: Vec<String> = values
        .iter()
        .map(|value| if value.parse::<u64>().is_ok() { value.clone() } else { quoted(value) })
        .collect();
    match argument.get_action() {
        ArgAction::Append => format!("[{}]", texts.join(", ")),
        _ => texts.join(", "),
    }
}
