//! Fields that the user adds to each event.

use huginn_net::record::formats::zeek::{ZeekForm, tsv_text};
use huginn_net::record::formats::{self, EventFormat};
use serde_json::Value;

/// The name of the sensor, and fields with texts, in each event of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnFields {
    pub(crate) sensor: Option<String>,
    pub(crate) others: Vec<(String, String)>,
}

impl OwnFields {
    /// Names and texts. The field of the sensor is called `sensor`, except in the formats of other tools.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let sensor = self.sensor.iter().map(|name| ("sensor", name.as_str()));
        sensor.chain(self.others())
    }

    fn others(&self) -> impl Iterator<Item = (&str, &str)> {
        self.others.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The fields of JSON, with a comma before each.
    pub(crate) fn json(&self) -> String {
        self.prefixed_json("")
    }

    fn prefixed_json(&self, prefix: &str) -> String {
        let json =
            |(name, text)| format!(",{}:{}", Value::from(format!("{prefix}{name}")), Value::from(text));
        self.iter().map(json).collect()
    }

    /// The fields in the format of another tool, with the number of the record; `None` if there are none.
    pub(crate) fn formatted(&self, format: EventFormat, number: Option<&str>) -> Option<formats::OwnFields> {
        if number.is_none() && self.iter().next().is_none() {
            return None;
        }
        let fields = formats::OwnFields::new(format, self.sensor.as_deref(), self.others());
        Some(match number {
            Some(json) => fields.with_sequence(format, json),
            None => fields,
        })
    }
}

/// The fields of the user in the logs of a folder of Zeek.
pub(crate) struct ZeekFields {
    form: ZeekForm,
    names: Vec<String>,
    /// Fields of JSON, or columns, that follow the values of a row.
    after_row: String,
}

impl ZeekFields {
    pub(crate) fn new(own: &OwnFields, form: ZeekForm) -> Self {
        let names = own.iter().map(|(name, _)| format!("huginn.{name}")).collect();
        let after_row = match form {
            ZeekForm::Json => own.prefixed_json("huginn."),
            ZeekForm::Tsv => own.iter().fold(String::new(), |row, (_, text)| row + "\t" + &tsv_text(text)),
        };
        Self { form, names, after_row }
    }

    /// Adds the columns to the header of a log.
    pub(crate) fn add_to_header(&self, header: &str) -> String {
        let add = |line: &str| {
            let word = |name: &String| {
                if line.starts_with("#fields") { format!("\t{name}") } else { "\tstring".to_owned() }
            };
            let is_list = ["#fields", "#types"].iter().any(|start| line.starts_with(start));
            let added: String = if is_list { self.names.iter().map(word).collect() } else { String::new() };
            format!("{line}{added}\n")
        };
        header.lines().map(add).collect()
    }

    /// Adds the fields to a row, which ends its line; `None` if there are none.
    pub(crate) fn add_to_row(&self, row: &[u8]) -> Option<Vec<u8>> {
        if self.names.is_empty() {
            return None;
        }
        let mut row = row.strip_suffix(b"\n").unwrap_or(row).to_vec();
        match self.form {
            ZeekForm::Json => add_to_object(&mut row, &self.after_row),
            ZeekForm::Tsv => row.extend_from_slice(self.after_row.as_bytes()),
        }
        row.push(b'\n');
        Some(row)
    }
}

/// Appends fields, each after a comma, to an object at the end of a text.
pub(crate) fn add_to_object(text: &mut Vec<u8>, fields: &str) {
    if fields.is_empty() {
        return;
    }
    // The brace that closes the object.
    text.pop();
    let is_empty = text.last() == Some(&b'{');
    let fields = if is_empty { fields.trim_start_matches(',') } else { fields };
    text.extend_from_slice(fields.as_bytes());
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeek_logs_have_the_fields_as_columns() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let own = OwnFields {
            sensor: Some("berlin-1".to_owned()),
            others: vec![pair("site", "a\tb\\"), pair("rack", "")],
        };
        let tsv = ZeekFields::new(&own, ZeekForm::Tsv);
        let header = tsv.add_to_header("#path\tssl\n#fields\tts\n#types\ttime\n");
        assert_eq!(
            header,
            "#path\tssl\n#fields\tts\thuginn.sensor\thuginn.site\thuginn.rack\n#types\ttime\tstring\tstring\tstring\n"
        );
        assert_eq!(tsv.add_to_row(b"1.0\n").unwrap(), b"1.0\tberlin-1\ta\\x09b\\x5c\t(empty)\n");
        let json = ZeekFields::new(&own, ZeekForm::Json);
        assert_eq!(
            String::from_utf8(json.add_to_row(b"{\"ts\":1.0}\n").unwrap()).unwrap(),
            "{\"ts\":1.0,\"huginn.sensor\":\"berlin-1\",\"huginn.site\":\"a\\tb\\\\\",\"huginn.rack\":\"\"}\n"
        );
        assert_eq!(ZeekFields::new(&OwnFields::default(), ZeekForm::Json).add_to_row(b"{}\n"), None);
    }
}
