//! Specs: TOML text to typed values, every number with its source, every mistake in one line.
//!
//! A mistake names the file (`origin`), the key's path, the value as written, and the nearest valid one:
//!
//! ```
//! # use serde::Deserialize;
//! # use dielet_core::spec::{parse, Sourced};
//! # use dielet_core::units::BytesPerSecond;
//! #[derive(Debug, Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Link { bandwidth: Sourced<BytesPerSecond> }
//!
//! let text = r#"bandwidth = { value = "25 GB/s", source = "NVLink2 data sheet", confidence = "datasheet" }"#;
//! let link: Link = parse(text, "mine.toml").unwrap();
//! assert_eq!(link.bandwidth.value, BytesPerSecond(25e9));
//!
//! let wrong = parse::<Link>("bandwith = '25 GB/s'", "mine.toml").unwrap_err();
//! assert_eq!(wrong.to_string(), "mine.toml: unknown key `bandwith`: did you mean `bandwidth`?");
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Why a spec is refused; `origin` is the file (or what else the text came from).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// The text is no TOML.
    #[error("{origin}: line {line}: {problem}")]
    Syntax {
        /// The file.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// What the parser says.
        problem: String,
    },
    /// A key that means nothing here.
    #[error("{origin}: unknown key `{key}`: {remedy}")]
    UnknownKey {
        /// The file.
        origin: String,
        /// The key's path.
        key: String,
        /// The nearest known key, or all of them.
        remedy: String,
    },
    /// A key that must be there.
    #[error("{origin}: {place} lacks the key `{key}`")]
    MissingKey {
        /// The file.
        origin: String,
        /// The table that lacks it.
        place: String,
        /// The missing key.
        key: String,
    },
    /// A value that cannot be used.
    #[error("{origin}: `{key} = {value}`: {problem}")]
    Value {
        /// The file.
        origin: String,
        /// The key's path.
        key: String,
        /// The value as written.
        value: String,
        /// What is wrong and what would be right.
        problem: String,
    },
}

/// How sure a figure is, from the surest down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The vendor's data sheet, white paper or manual.
    Datasheet,
    /// A published measurement.
    Measured,
    /// Fitted to published measurements; the source says with what error.
    Fit,
    /// Computed from other figures; the source says how.
    Derived,
    /// Quoted from a second-hand source.
    Secondary,
    /// Remembered from a source that was not at hand.
    Recalled,
    /// Chosen; the source says why.
    Assumed,
    /// Written in a user's file without more.
    Stated,
}

/// A value with where it comes from.
///
/// In TOML `key = { value = "900 GB/s", source = "...", confidence = "datasheet" }`, or, in a user's own file, the bare value:
/// `key = "900 GB/s"`, which is then [`Confidence::Stated`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sourced<T> {
    /// The figure.
    pub value: T,
    /// Where it comes from.
    pub source: String,
    /// How sure it is.
    pub confidence: Confidence,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full<T> {
    value: T,
    source: String,
    confidence: Confidence,
}

impl<T> Sourced<T> {
    /// A value as a user states it.
    pub fn stated(value: T) -> Self {
        Self { value, source: "stated by the user".to_owned(), confidence: Confidence::Stated }
    }
}

struct SourcedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SourcedVisitor<T> {
    type Value = Sourced<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or `{ value = .., source = \"..\", confidence = \"..\" }`")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(text.into_deserializer()).map(Sourced::stated)
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Sourced::stated)
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Sourced::stated)
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Sourced::stated)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(list)).map(Sourced::stated)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let Full { value, source, confidence } = Full::deserialize(MapAccessDeserializer::new(map))?;
        if source.trim().is_empty() {
            return Err(A::Error::custom("the source is empty: name where the value comes from"));
        }
        Ok(Sourced { value, source, confidence })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sourced<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SourcedVisitor(PhantomData))
    }
}

/// A typed value from TOML text; `origin` names the text in errors.
pub fn parse<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, SpecError> {
    let document = DeTable::parse(text).map_err(|error| syntax(text, origin, &error))?;
    toml::from_str(text).map_err(|error| translate(text, origin, document.get_ref(), &error))
}

fn syntax(text: &str, origin: &str, error: &toml::de::Error) -> SpecError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.get(..at).unwrap_or(text).split('\n').count();
    SpecError::Syntax { origin: origin.to_owned(), line, problem: one_line(error.message()) }
}

fn translate(text: &str, origin: &str, document: &DeTable, error: &toml::de::Error) -> SpecError {
    let origin = origin.to_owned();
    let span = error.span().unwrap_or(0..text.len());
    let key = path_at(document, &span);
    let message = one_line(error.message());
    let named = backticked(&message);
    if message.starts_with("unknown field") {
        return SpecError::UnknownKey { origin, key, remedy: remedy(&named, "") };
    }
    if let (true, Some(missing)) = (message.starts_with("missing field"), named.first()) {
        let place = if key.is_empty() { "the file".to_owned() } else { format!("`{key}`") };
        return SpecError::MissingKey { origin, place, key: (*missing).to_owned() };
    }
    let value = one_line(text.get(span).unwrap_or_default());
    SpecError::Value { origin, key, value, problem: value_problem(&message, &named) }
}

fn value_problem(message: &str, named: &[&str]) -> String {
    if message.starts_with("unknown variant") {
        return remedy(named, "unknown value: ");
    }
    // A unit's error lists the known units; the nearest one reads faster than the list.
    let units =
        message.split_once(": use one of ").and_then(|(_, list)| nearest(named.get(1)?, list.split(", ")));
    match units {
        Some(unit) => format!("{message}; nearest is `{unit}`"),
        None => message.to_owned(),
    }
}

/// The first of `named` is what was written, the others are what would be right.
fn remedy(named: &[&str], before: &str) -> String {
    let Some((written, known)) = named.split_first() else { return before.to_owned() };
    match nearest(written, known.iter().copied()) {
        Some(word) => format!("{before}did you mean `{word}`?"),
        None if known.is_empty() => format!("{before}no key is known here"),
        None => format!("{before}use one of {}", known.join(", ")),
    }
}

/// The candidate most like `word`, if any is alike at all; the first of equals.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let alike = |candidate: &str| strsim::jaro_winkler(&word.to_lowercase(), &candidate.to_lowercase());
    let scored = candidates.into_iter().map(|candidate| (alike(candidate), candidate));
    let best = scored.fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    best.filter(|(score, _)| *score >= 0.7).map(|(_, candidate)| candidate)
}

fn backticked(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The dotted path of the deepest key or value that covers a span; empty at the top.
fn path_at(table: &DeTable, span: &Range<usize>) -> String {
    let found = table.iter().find_map(|(key, value)| {
        let within = path_within(value, span);
        within.or_else(|| covers(&key.span(), span).then(String::new)).map(|path| join(key.get_ref(), &path))
    });
    found.unwrap_or_default()
}

/// The path below `value`, or none where it does not cover the span.
fn path_within(value: &Spanned<DeValue>, span: &Range<usize>) -> Option<String> {
    let deeper = match value.get_ref() {
        DeValue::Table(inner) => Some(path_at(inner, span)).filter(|path| !path.is_empty()),
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(place, item)| path_within(item, span).map(|path| join(&format!("[{place}]"), &path))),
        _ => None,
    };
    deeper.or_else(|| covers(&value.span(), span).then(String::new))
}

/// The parser reports the whole file as an empty span at its start, which no key covers.
fn covers(outer: &Range<usize>, span: &Range<usize>) -> bool {
    !span.is_empty() && outer.start <= span.start && span.end <= outer.end
}

fn join(head: &str, tail: &str) -> String {
    let dot = if tail.is_empty() || tail.starts_with('[') { "" } else { "." };
    format!("{head}{dot}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, BytesPerSecond};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Spec {
        name: String,
        memory: Sourced<Bytes>,
        share: Option<Sourced<f64>>,
        confidence: Option<Confidence>,
        links: Option<Vec<Link>>,
        inner: Option<Link>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Link {
        beta: BytesPerSecond,
        count: Option<u64>,
    }

    fn refusal(text: &str) -> String {
        parse::<Spec>(text, "mine.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_bare_value_is_stated_and_a_full_one_keeps_its_source() {
        let text = "name = 'x'\nmemory = '16 GiB'\nshare = { value = 0.5, source = 'p. 3', confidence = 'measured' }";
        let spec: Spec = parse(text, "mine.toml").unwrap();
        assert_eq!(spec.memory.confidence, Confidence::Stated);
        assert_eq!(spec.memory.value, Bytes(16.0 * 1_073_741_824.0));
        assert_eq!(spec.share.unwrap().source, "p. 3");
        let whole: Spec = parse("name = 'x'\nmemory = '1 B'\nshare = 1", "mine.toml").unwrap();
        assert!(whole.share.unwrap().value > 0.99);
    }

    #[test]
    fn every_mistake_is_one_line_with_file_key_value_and_remedy() {
        let cases = [
            ("name = 'x'\nmemry = '1 B'", "mine.toml: unknown key `memry`: did you mean `memory`?"),
            ("name = 'x'", "mine.toml: the file lacks the key `memory`"),
            (
                "name = 'x'\nmemory = 16",
                "mine.toml: `memory = 16`: invalid type: integer `16`, expected a string",
            ),
            (
                "name = 'x'\nmemory = { value = '1 B', sorce = 'y', confidence = 'fit' }",
                "mine.toml: unknown key `memory.sorce`: did you mean `source`?",
            ),
            (
                "name = 'x'\nmemory = '1 B'\nconfidence = 'datashet'",
                "mine.toml: `confidence = 'datashet'`: unknown value: did you mean `datasheet`?",
            ),
            (
                "name = 'x'\nmemory = '1 B'\n[inner]\nbeta = '1 GB/s'\ncont = 3",
                "mine.toml: unknown key `inner.cont`: did you mean `count`?",
            ),
            (
                "name = 'x'\nmemory = '1 B'\n[[links]]\nbeta = '1 GB/s'\n[[links]]\ncount = 3",
                "mine.toml: `links[1]` lacks the key `beta`",
            ),
            (
                "name = 'x'\nmemory = ",
                "mine.toml: line 2: string values must be quoted, expected literal string",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text), expected, "{text}");
        }
    }

    #[test]
    fn a_wrong_unit_names_the_nearest() {
        let said = refusal("name = 'x'\nmemory = '1 B'\nlinks = [{ beta = '1 GB/s' }, { beta = '1 GBs' }]");
        assert!(said.starts_with("mine.toml: `links[1].beta = '1 GBs'`: "), "{said}");
        assert!(said.ends_with("; nearest is `GB/s`"), "{said}");
    }

    #[test]
    fn an_empty_source_is_none() {
        let said = refusal("name = 'x'\nmemory = { value = '1 B', source = ' ', confidence = 'fit' }");
        assert!(said.ends_with("the source is empty: name where the value comes from"), "{said}");
    }
}
