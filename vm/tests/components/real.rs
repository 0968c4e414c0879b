//! Components that others have built and shipped: each function that they export is called, and returns what is known of
//! it otherwise.
//!
//! They are there after `bench-wasm/download.sh --components`; what is not there is skipped, with a note. What those of Arcjet
//! return is what their own JavaScript returned in Node 20 (`instantiate` of the package, on 2026-11-28).

use std::io::{self, Write};
use std::path::PathBuf;

use wprof::component::{Component, Instance, Linker, ResourceAny, TypedFunc};
use wprof::wasi::{WasiCtx, WasiCtxBuilder};
use wprof::{Engine, Store, wasi2};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Loads a component, or says that it is skipped.
fn load(engine: &Engine, name: &str) -> Outcome<Option<Component>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/downloads/components");
    let path = PathBuf::from(folder).join(format!("{name}.wasm"));
    if !path.exists() {
        // The test harness keeps what the macros print of tests that pass.
        let _ = writeln!(io::stderr(), "skipped: bench-wasm/download.sh --components gets {name}");
        return Ok(None);
    }
    Ok(Some(Component::new(engine, std::fs::read(path)?)?))
}

fn linker(engine: &Engine) -> Outcome<Linker<WasiCtx>> {
    let mut linker = Linker::new(engine);
    wasi2::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi)?;
    Ok(linker)
}

fn store(engine: &Engine) -> Store<WasiCtx> {
    Store::new(engine, WasiCtxBuilder::new().build())
}

wprof::component_types! {
    #[derive(Clone, Debug, PartialEq)]
    enum Data {
        U8(Vec<u8>),
        U16(Vec<u16>),
        U32(Vec<u32>),
        U64(Vec<u64>),
        I8(Vec<i8>),
        I16(Vec<i16>),
        I32(Vec<i32>),
        I64(Vec<i64>),
        F32(Vec<f32>),
        F64(Vec<f64>),
    }

    #[derive(Clone, Debug, PartialEq)]
    struct AnyArray {
        data: Data,
        shape: Vec<u32>,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Dtype {
        U8,
        U16,
        U32,
        U64,
        I8,
        I16,
        I32,
        I64,
        F32,
        F64,
    }

    #[derive(Clone, Debug)]
    struct Prototype {
        dtype: Dtype,
        shape: Vec<u32>,
    }

    #[derive(Clone, Debug)]
    struct CodecError {
        message: String,
        chain: Vec<String>,
    }

    #[derive(Clone, Copy, Debug)]
    enum Level {
        Trace,
        Debug,
        Info,
        Warn,
        Error,
        Critical,
    }
}

type Coded<T> = (Result<T, CodecError>,);

/// A codec of `numcodecs-wasm-*`, with all its functions.
struct Codec {
    store: Store<WasiCtx>,
    id: TypedFunc<(), (String,)>,
    schema: TypedFunc<(), (String,)>,
    from_config: TypedFunc<(String,), Coded<ResourceAny>>,
    encode: TypedFunc<(ResourceAny, AnyArray), Coded<AnyArray>>,
    decode: TypedFunc<(ResourceAny, AnyArray), Coded<AnyArray>>,
    decode_into: TypedFunc<(ResourceAny, AnyArray, Prototype), Coded<AnyArray>>,
    get_config: TypedFunc<(ResourceAny,), Coded<String>>,
}

impl Codec {
    fn new(name: &str) -> Outcome<Option<Codec>> {
        let engine = Engine::default();
        let Some(component) = load(&engine, &format!("numcodecs-{name}"))? else { return Ok(None) };
        let mut linker = linker(&engine)?;
        let mut logging = linker.instance("wasi:logging/logging")?;
        logging.func_wrap("log", |_, _: (Level, String, String)| Ok(()))?;
        let mut store = store(&engine);
        let instance = linker.instantiate(&mut store, &component)?;
        let name = |func: &str| format!("numcodecs:abc/codec@0.1.1#{func}");
        Ok(Some(Codec {
            id: instance.get_typed_func(&name("codec-id"))?,
            schema: instance.get_typed_func(&name("codec-config-schema"))?,
            from_config: instance.get_typed_func(&name("[static]codec.from-config"))?,
            encode: instance.get_typed_func(&name("[method]codec.encode"))?,
            decode: instance.get_typed_func(&name("[method]codec.decode"))?,
            decode_into: instance.get_typed_func(&name("[method]codec.decode-into"))?,
            get_config: instance.get_typed_func(&name("[method]codec.get-config"))?,
            store,
        }))
    }

    /// Encodes data with a codec that is configured so, and decodes it in both ways; returns both, the code and the data.
    fn both_ways(&mut self, config: &str, data: &AnyArray) -> Outcome<[AnyArray; 2]> {
        assert!(self.schema.call(&mut self.store, ())?.0.contains("\"properties\""));
        // The second one is there at the same time.
        let codec = self.codec(config)?;
        let other = self.codec(config)?;
        let (kept,) = self.get_config.call(&mut self.store, (codec.clone(),))?;
        let own = config.trim_matches(['{', '}', ' ']);
        let kept = said(kept)?;
        assert!(kept.contains(own), "{kept} is not {config}");
        let code = said(self.encode.call(&mut self.store, (codec.clone(), data.clone()))?.0)?;
        let back = said(self.decode.call(&mut self.store, (other.clone(), code.clone()))?.0)?;
        let prototype = Prototype { dtype: dtype(&data.data), shape: data.shape.clone() };
        let into = said(self.decode_into.call(&mut self.store, (codec.clone(), code.clone(), prototype))?.0)?;
        assert_eq!(back, into);
        let refused = self.from_config.call(&mut self.store, ("{ no JSON".to_owned(),))?.0;
        let error = refused.expect_err("that is no configuration");
        assert!(!error.message.is_empty() || !error.chain.is_empty());
        codec.resource_drop(&mut self.store)?;
        other.resource_drop(&mut self.store)?;
        Ok([code, back])
    }

    fn codec(&mut self, config: &str) -> Outcome<ResourceAny> {
        said(self.from_config.call(&mut self.store, (config.to_owned(),))?.0)
    }
}

fn said<T>(result: Result<T, CodecError>) -> Outcome<T> {
    result.map_err(|error| format!("{}: {:?}", error.message, error.chain).into())
}

fn dtype(data: &Data) -> Dtype {
    match data {
        Data::U8(_) => Dtype::U8,
        Data::U16(_) => Dtype::U16,
        Data::U32(_) => Dtype::U32,
        Data::U64(_) => Dtype::U64,
        Data::I8(_) => Dtype::I8,
        Data::I16(_) => Dtype::I16,
        Data::I32(_) => Dtype::I32,
        Data::I64(_) => Dtype::I64,
        Data::F32(_) => Dtype::F32,
        Data::F64(_) => Dtype::F64,
    }
}

fn array(data: Data, shape: &[u32]) -> AnyArray {
    AnyArray { data, shape: shape.to_vec() }
}

/// Numbers that repeat, a bit.
fn numbers() -> Vec<f64> {
    (0..600_u32).map(|i| f64::from(i % 40) * 0.37 - 5.0).collect()
}

#[test]
fn codecs_give_back_what_they_encode() -> Outcome {
    let bytes: Vec<u8> = (0..20_000_u32).map(|i| (i / 9 % 251) as u8).collect();
    for (name, config, magic) in [
        ("zstd", r#"{"level":3}"#, &[0x28, 0xb5, 0x2f, 0xfd][..]),
        ("zlib", r#"{"level":6}"#, &[]),
        ("pco", r#"{"level":8,"mode":"auto","delta":"auto","paging":"equal-pages-up-to"}"#, &[]),
    ] {
        let Some(mut codec) = Codec::new(name)? else { continue };
        assert!(codec.id.call(&mut codec.store, ())?.0.contains(name));
        let data = match name {
            // It is for numbers of more than a byte.
            "pco" => array(Data::F64(numbers()), &[30, 20]),
            _ => array(Data::U8(bytes.clone()), &[200, 100]),
        };
        let [code, back] = codec.both_ways(config, &data).map_err(|error| format!("{name}: {error}"))?;
        assert_eq!(back, data, "{name}");
        let Data::U8(code) = code.data else { return Err(format!("{name} encodes to bytes").into()) };
        assert!(code.len() < 3000 && code.windows(magic.len().max(1)).any(|part| part.starts_with(magic)));
        let garbage = array(Data::U8(vec![7; 40]), &[40]);
        let resource = codec.codec(config)?;
        assert!(codec.decode.call(&mut codec.store, (resource, garbage))?.0.is_err(), "{name}");
    }
    Ok(())
}

#[test]
fn codecs_compute_what_they_say() -> Outcome {
    let data = array(Data::F64(numbers()), &[30, 20]);
    if let Some(mut identity) = Codec::new("identity")? {
        let [code, back] = identity.both_ways("{}", &data)?;
        assert_eq!((&code, &back), (&data, &data));
    }
    if let Some(mut round) = Codec::new("round")? {
        let [code, back] = round.both_ways(r#"{"precision":0.5}"#, &data)?;
        let expected = numbers().iter().map(|x| (x / 0.5).round() * 0.5).collect();
        assert_eq!((&code.data, &back.data), (&Data::F64(expected), &code.data));
    }
    if let Some(mut reinterpret) = Codec::new("reinterpret")? {
        let config = r#"{"encode_dtype":"u64","decode_dtype":"f64"}"#;
        let [code, back] = reinterpret.both_ways(config, &data)?;
        assert_eq!(back, data);
        assert_eq!(code.data, Data::U64(numbers().into_iter().map(f64::to_bits).collect()));
    }
    if let Some(mut log) = Codec::new("log")? {
        let positive: Vec<f64> = numbers().iter().map(|x| x.abs() + 0.25).collect();
        let [code, back] = log.both_ways("{}", &array(Data::F64(positive.clone()), &[600]))?;
        let (Data::F64(code), Data::F64(back)) = (code.data, back.data) else {
            return Err("floats stay floats".into());
        };
        let is_near = |(a, b): (&f64, f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
        assert!(code.iter().zip(positive.iter().map(|x| x.ln())).all(is_near));
        assert!(back.iter().zip(positive.iter().copied()).all(is_near));
    }
    Ok(())
}

wprof::component_types! {
    #[derive(Clone, Debug)]
    struct BotConfig {
        entities: Vec<String>,
        skip_custom_detect: bool,
    }

    #[derive(Clone, Debug)]
    enum BotOptions {
        AllowedBotConfig(BotConfig),
        DeniedBotConfig(BotConfig),
    }

    #[derive(Clone, Debug, PartialEq)]
    struct BotResult {
        allowed: Vec<String>,
        denied: Vec<String>,
        verified: bool,
        spoofed: bool,
    }

    #[derive(Clone, Debug, PartialEq)]
    struct FilterResult {
        allowed: bool,
        matched_expressions: Vec<String>,
        undetermined_expressions: Vec<String>,
    }

    #[derive(Clone, Debug)]
    struct AllowedEmails {
        require_top_level_domain: bool,
        allow_domain_literal: bool,
        allow: Vec<String>,
    }

    #[derive(Clone, Debug)]
    struct DeniedEmails {
        require_top_level_domain: bool,
        allow_domain_literal: bool,
        deny: Vec<String>,
    }

    #[derive(Clone, Debug)]
    enum EmailOptions {
        AllowEmailValidationConfig(AllowedEmails),
        DenyEmailValidationConfig(DeniedEmails),
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Validity {
        Valid,
        Invalid,
    }

    #[derive(Clone, Debug, PartialEq)]
    struct EmailResult {
        validity: Validity,
        blocked: Vec<String>,
    }

    #[derive(Clone, Debug, PartialEq)]
    enum Entity {
        Email,
        PhoneNumber,
        IpAddress,
        CreditCardNumber,
        Custom(String),
    }

    #[derive(Clone, Debug)]
    enum Entities {
        Allow(Vec<Entity>),
        Deny(Vec<Entity>),
    }

    #[derive(Clone, Debug)]
    struct SensitiveOptions {
        entities: Entities,
        context_window_size: Option<u32>,
        skip_custom_detect: bool,
    }

    #[derive(Clone, Debug, PartialEq)]
    struct Detected {
        start: u32,
        end: u32,
        identified_type: Entity,
    }

    #[derive(Clone, Debug, PartialEq)]
    struct SensitiveResult {
        allowed: Vec<Detected>,
        denied: Vec<Detected>,
    }

    #[derive(Clone, Copy, Debug)]
    enum Answer {
        Yes,
        No,
        Unknown,
    }

    #[derive(Clone, Copy, Debug)]
    enum Verdict {
        Verified,
        Spoofed,
        Unverifiable,
    }
}

/// The engine of Arcjet, with the host functions that the package's JavaScript had.
fn arcjet() -> Outcome<Option<(Store<WasiCtx>, Instance)>> {
    let engine = Engine::default();
    let Some(component) = load(&engine, "arcjet")? else { return Ok(None) };
    let mut linker = linker(&engine)?;
    let mut bots = linker.instance("arcjet:js-req/bot-identifier")?;
    bots.func_wrap("detect", |_, _: (String,)| Ok((vec!["MY_BOT".to_owned()],)))?;
    let mut emails = linker.instance("arcjet:js-req/email-validator-overrides")?;
    emails.func_wrap("is-free-email", |_, (domain,): (String,)| {
        Ok((if domain == "example.com" { Answer::Yes } else { Answer::No },))
    })?;
    for (name, answer) in [
        ("is-disposable-email", Answer::Unknown),
        ("has-mx-records", Answer::Yes),
        ("has-gravatar", Answer::No),
    ] {
        emails.func_wrap(name, move |_, _: (String,)| Ok((answer,)))?;
    }
    let mut filters = linker.instance("arcjet:js-req/filter-overrides")?;
    filters.func_wrap("ip-lookup", |_, _: (String,)| Ok((None::<String>,)))?;
    let mut sensitive = linker.instance("arcjet:js-req/sensitive-information-identifier")?;
    sensitive.func_wrap("detect", |_, (tokens,): (Vec<String>,)| {
        let entity = |token: String| (token == "secret").then(|| Entity::Custom("word".to_owned()));
        Ok((tokens.into_iter().map(entity).collect::<Vec<_>>(),))
    })?;
    let mut verified = linker.instance("arcjet:js-req/verify-bot")?;
    verified.func_wrap("verify", |_, (_, ip): (String, String)| {
        Ok((if ip == "10.0.0.1" { Verdict::Verified } else { Verdict::Spoofed },))
    })?;
    // What it imports beside these it does not call.
    linker.define_unknown_imports_as_traps(&component)?;
    let mut store = store(&engine);
    let instance = linker.instantiate(&mut store, &component)?;
    Ok(Some((store, instance)))
}

/// A request as the package describes one.
const REQUEST: &str = r#"{"ip":"127.0.0.1","method":"GET","protocol":"http:","host":"example.com","path":"/a","headers":{"user-agent":"curl/8.0"},"cookies":"","query":"","extra":{}}"#;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn arcjet_knows_requests() -> Outcome {
    let Some((mut store, instance)) = arcjet()? else { return Ok(()) };
    type Text = (Result<String, String>,);
    let fingerprint = instance.get_typed_func::<(String, Vec<String>), Text>("generate-fingerprint")?;
    for (request, characteristics, expected) in [
        (
            REQUEST,
            &["ip.src"][..],
            Ok("fp::2::0d219da6100b99f95cf639b77e088c6df3c096aa5fd61dec5287c5cf94d5e545"),
        ),
        (
            REQUEST,
            &["ip.src", "http.host"],
            Ok("fp::2::d5ff7855008d3a7c6f63389e49bdde2dad598af0ed1f9bdcdefd44a9b53ef9ab"),
        ),
        (
            "{",
            &["ip.src"],
            Err("Failed to generate fingerprint: Failed to deserialize request from json to native struct."),
        ),
    ] {
        let given = fingerprint.call(&mut store, (request.to_owned(), texts(characteristics)))?.0;
        assert_eq!(given.as_deref().map_err(String::as_str), expected);
    }
    let validate = instance
        .get_typed_func::<(String, Vec<String>), (Result<(), String>,)>("validate-characteristics")?;
    assert_eq!(validate.call(&mut store, (REQUEST.to_owned(), texts(&["ip.src"])))?.0, Ok(()));
    let error = validate.call(&mut store, (REQUEST.to_owned(), texts(&["no.such"])))?.0;
    assert!(error.is_err_and(|error| error.contains("user-defined `no.such` characteristic")));
    let filters = instance
        .get_typed_func::<(String, String, Vec<String>, bool), (Result<FilterResult, String>,)>(
            "match-filters",
        )?;
    let mut filter = |expressions: &[&str]| {
        Ok::<_, wprof::Error>(
            filters.call(&mut store, (REQUEST.to_owned(), "{}".to_owned(), texts(expressions), true))?.0,
        )
    };
    let matched = filter(&["ip.src == 127.0.0.1", "http.host eq \"x\""])?;
    let result = |allowed, matched: &[&str]| FilterResult {
        allowed,
        matched_expressions: texts(matched),
        undetermined_expressions: Vec::new(),
    };
    assert_eq!(matched, Ok(result(true, &["ip.src == 127.0.0.1"])));
    assert_eq!(filter(&["http.host eq \"x\""])?, Ok(result(false, &[])));
    let error = "Filter parsing error (1:1):\nwhat is\n^^^^ unknown identifier\n";
    assert_eq!(filter(&["what is"])?, Err(error.to_owned()));
    Ok(())
}

#[test]
fn arcjet_knows_bots() -> Outcome {
    let Some((mut store, instance)) = arcjet()? else { return Ok(()) };
    let detect =
        instance.get_typed_func::<(String, BotOptions), (Result<BotResult, String>,)>("detect-bot")?;
    let config =
        |entity: &str, skip_custom_detect| BotConfig { entities: texts(&[entity]), skip_custom_detect };
    let found = |allowed: &[&str], denied: &[&str]| {
        Ok(BotResult { allowed: texts(allowed), denied: texts(denied), verified: false, spoofed: false })
    };
    let google = REQUEST
        .replace("curl/8.0", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)");
    for (request, options, expected) in [
        (REQUEST, BotOptions::DeniedBotConfig(config("CURL", true)), found(&[], &["CURL"])),
        (REQUEST, BotOptions::AllowedBotConfig(config("CURL", false)), found(&["CURL"], &["MY_BOT"])),
        (
            &google.replace("127.0.0.1", "10.0.0.1"),
            BotOptions::DeniedBotConfig(config("GOOGLE_CRAWLER", true)),
            found(&[], &["GOOGLE_CRAWLER"]),
        ),
        (
            "nothing",
            BotOptions::DeniedBotConfig(config("CURL", true)),
            Err("failed to detect bot: unable deserialize request from json to native struct".to_owned()),
        ),
    ] {
        assert_eq!(detect.call(&mut store, (request.to_owned(), options))?.0, expected);
    }
    Ok(())
}

#[test]
fn arcjet_knows_addresses_and_what_is_sensitive() -> Outcome {
    let Some((mut store, instance)) = arcjet()? else { return Ok(()) };
    let email = instance
        .get_typed_func::<(String, EmailOptions), (Result<EmailResult, String>,)>("is-valid-email")?;
    let deny = |deny: &[&str]| {
        EmailOptions::DenyEmailValidationConfig(DeniedEmails {
            require_top_level_domain: true,
            allow_domain_literal: false,
            deny: texts(deny),
        })
    };
    let allow = |allow: &[&str]| {
        EmailOptions::AllowEmailValidationConfig(AllowedEmails {
            require_top_level_domain: true,
            allow_domain_literal: false,
            allow: texts(allow),
        })
    };
    for (candidate, options, validity, blocked) in [
        ("nobody@arcjet.com", deny(&[]), Validity::Valid, &[][..]),
        ("nobody@example.com", deny(&["FREE"]), Validity::Invalid, &["FREE"]),
        ("nobody", deny(&[]), Validity::Invalid, &["INVALID"]),
        ("nobody@localhost", allow(&[]), Validity::Invalid, &["INVALID"]),
        ("nobody@example.com", allow(&["FREE"]), Validity::Invalid, &["NO_GRAVATAR"]),
    ] {
        let result = email.call(&mut store, (candidate.to_owned(), options))?.0;
        assert_eq!(result, Ok(EmailResult { validity, blocked: texts(blocked) }), "{candidate}");
    }
    let detect =
        instance.get_typed_func::<(String, SensitiveOptions), (SensitiveResult,)>("detect-sensitive-info")?;
    let options = SensitiveOptions {
        entities: Entities::Deny(vec![Entity::Email]),
        context_window_size: None,
        skip_custom_detect: true,
    };
    let result = detect.call(&mut store, ("mail a@b.com or call 555-123-4567".to_owned(), options))?.0;
    let [phone, mail] = [(21, 33, Entity::PhoneNumber), (5, 12, Entity::Email)]
        .map(|(start, end, identified_type)| vec![Detected { start, end, identified_type }]);
    assert_eq!(result, SensitiveResult { allowed: phone, denied: mail });
    let options = SensitiveOptions {
        entities: Entities::Allow(vec![Entity::CreditCardNumber, Entity::IpAddress]),
        context_window_size: Some(1),
        skip_custom_detect: false,
    };
    let result = detect.call(&mut store, ("the secret 4242424242424242 10.1.2.3".to_owned(), options))?.0;
    let word = Detected { start: 4, end: 10, identified_type: Entity::Custom("word".to_owned()) };
    assert_eq!(result, SensitiveResult { allowed: Vec::new(), denied: vec![word] });
    Ok(())
}

wprof::component_types! {
    #[derive(Clone, Debug, PartialEq)]
    struct Word {
        text: String,
        count: u32,
    }

    #[derive(Clone, Copy, Debug)]
    enum Order {
        ByText,
        ByCount,
    }

    flags Marks {
        UPPER,
        REVERSED,
    }
}

/// `bench-wasm/components/words.py` in CPython, by componentize-py.
#[test]
fn python_computes_what_it_does_elsewhere() -> Outcome {
    let engine = Engine::default();
    let Some(component) = load(&engine, "words")? else { return Ok(()) };
    let mut linker = linker(&engine)?;
    linker.define_unknown_imports_as_traps(&component)?;
    let mut store = store(&engine);
    let instance = linker.instantiate(&mut store, &component)?;
    let name = |func: &str| format!("test:words/words#{func}");
    let count = instance.get_typed_func::<(String, Order), (Vec<Word>,)>(&name("count"))?;
    let words = |all: &[(&str, u32)]| -> Vec<Word> {
        all.iter().map(|&(text, count)| Word { text: text.to_owned(), count }).collect()
    };
    let text = "ein Wort und noch ein wört";
    let by_text = [("Wort", 1), ("ein", 2), ("noch", 1), ("und", 1), ("wört", 1)];
    assert_eq!(count.call(&mut store, (text.to_owned(), Order::ByText))?.0, words(&by_text));
    let by_count = [("ein", 2), ("Wort", 1), ("noch", 1), ("und", 1), ("wört", 1)];
    assert_eq!(count.call(&mut store, (text.to_owned(), Order::ByCount))?.0, words(&by_count));
    let divide = instance.get_typed_func::<(i32, i32), (Result<i32, String>,)>(&name("divide"))?;
    assert_eq!(divide.call(&mut store, (-7, 2))?.0, Ok(-4));
    let error = divide.call(&mut store, (1, 0))?.0;
    assert!(error.is_err_and(|error| error.contains("by zero")));
    let sum = instance.get_typed_func::<(Vec<f64>,), ((f64, Option<f64>),)>(&name("sum"))?;
    assert_eq!(sum.call(&mut store, (vec![0.5, 2.25, -1.0],))?.0, (1.75, Some(2.25)));
    assert_eq!(sum.call(&mut store, (Vec::new(),))?.0, (0.0, None));
    let change = instance.get_typed_func::<(String, Marks), (String,)>(&name("change"))?;
    let mut changed = |marks| change.call(&mut store, ("aé日".to_owned(), marks)).map(|(text,)| text);
    assert_eq!(changed(Marks::UPPER)?, "AÉ日");
    assert_eq!(changed(Marks::all())?, "日ÉA");
    assert_eq!(changed(Marks::empty())?, "aé日");
    Ok(())
}
