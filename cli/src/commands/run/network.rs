//! The option `--net`: a component's access to the network.

use std::net::{IpAddr, SocketAddr};

use wprof::wasi::{SocketAddrUse, WasiCtxBuilder};

/// One permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Net {
    /// All uses of the network.
    All,
    /// The lookup of names.
    Names,
    /// The use of TCP with some addresses.
    Tcp(Addresses),
    /// The use of UDP with some addresses.
    Udp(Addresses),
    /// HTTP requests to all hosts, or to one.
    Http(Option<String>),
}

/// A set of addresses; all, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    ip: Option<IpAddr>,
    port: Option<u16>,
}

impl Net {
    /// Parses `all`, `dns`, `tcp`, `udp` or `http`; the last three may have an address behind a colon.
    ///
    /// # Errors
    /// Returns an error if the text has another form.
    pub fn parse(text: &str) -> Result<Net, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, rest) {
            ("all", None) => Ok(Net::All),
            ("dns", None) => Ok(Net::Names),
            ("tcp", rest) => addresses(rest).map(Net::Tcp),
            ("udp", rest) => addresses(rest).map(Net::Udp),
            ("http", rest) if rest != Some("") => Ok(Net::Http(rest.map(str::to_ascii_lowercase))),
            _ => Err(
                "give all, dns, tcp, udp or http, or an address with the last three, such as tcp:127.0.0.1:80"
                    .to_owned(),
            ),
        }
    }
}

fn addresses(text: Option<&str>) -> Result<Addresses, String> {
    let Some(text) = text else { return Ok(Addresses::default()) };
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(Addresses { ip: Some(address.ip()), port: Some(address.port()) });
    }
    if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
        return Ok(Addresses { ip: None, port: Some(port) });
    }
    let ip = text.trim_matches(['[', ']']).parse::<IpAddr>();
    let ip =
        ip.map_err(|_| format!("`{text}` is not an address: give one such as 127.0.0.1, [::1]:80 or :80"))?;
    Ok(Addresses { ip: Some(ip), port: None })
}

impl Addresses {
    fn have(self, address: SocketAddr) -> bool {
        self.ip.is_none_or(|ip| ip == address.ip()) && self.port.is_none_or(|port| port == address.port())
    }

    /// Reports whether a use of `address` is permitted. An address says where a socket may be bound, and which peers it
    /// may connect or send to. The local end of a connection may have any port, and a listener accepts any peer.
    fn allow(self, address: SocketAddr, used: SocketAddrUse) -> bool {
        match used {
            SocketAddrUse::TcpAccept | SocketAddrUse::UdpReceive => true,
            SocketAddrUse::TcpBind | SocketAddrUse::UdpBind if address.port() == 0 => {
                address.ip().is_unspecified()
                    || self.ip.is_none_or(|ip| ip == address.ip()) && self.port.is_none()
            }
            _ => self.have(address),
        }
    }
}

/// Gives a program the permissions of the options.
pub fn allow(builder: &mut WasiCtxBuilder, all: &[Net]) {
    let has_all = all.contains(&Net::All);
    builder.allow_ip_name_lookup(has_all || all.contains(&Net::Names));
    let of = |wanted: fn(&Net) -> Option<Addresses>| -> Vec<Addresses> {
        let all_of_them = has_all.then(Addresses::default);
        all.iter().filter_map(wanted).chain(all_of_them).collect()
    };
    let tcp = of(|net| if let Net::Tcp(addresses) = net { Some(*addresses) } else { None });
    let udp = of(|net| if let Net::Udp(addresses) = net { Some(*addresses) } else { None });
    builder.allow_tcp(!tcp.is_empty()).allow_udp(!udp.is_empty());
    if !tcp.is_empty() || !udp.is_empty() {
        builder.socket_addr_check(move |address, used| {
            let rules = match used {
                SocketAddrUse::UdpBind | SocketAddrUse::UdpSend | SocketAddrUse::UdpReceive => &udp,
                _ => &tcp,
            };
            rules.iter().any(|addresses| addresses.allow(address, used))
        });
    }
    let hosts: Vec<Option<String>> = all
        .iter()
        .filter_map(|net| if let Net::Http(host) = net { Some(host.clone()) } else { None })
        .collect();
    if has_all || !hosts.is_empty() {
        builder.outgoing_http(move |authority| {
            let authority = authority.to_ascii_lowercase();
            has_all || hosts.iter().any(|host| host.as_ref().is_none_or(|host| *host == authority))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let of = |ip: &str, port: Option<u16>| Addresses { ip: ip.parse().ok(), port };
        let cases = [
            ("all", Net::All),
            ("dns", Net::Names),
            ("tcp", Net::Tcp(Addresses::default())),
            ("udp:10.0.0.1", Net::Udp(of("10.0.0.1", None))),
            ("tcp:[::1]:80", Net::Tcp(of("::1", Some(80)))),
            ("tcp:::1", Net::Tcp(of("::1", None))),
            ("tcp::80", Net::Tcp(of("", Some(80)))),
            ("http", Net::Http(None)),
            ("http:API.example:8080", Net::Http(Some("api.example:8080".to_owned()))),
        ];
        for (text, expected) in cases {
            assert_eq!(Net::parse(text), Ok(expected), "{text}");
        }
        for bad in ["", "tcp:", "tcp:localhost", "tcp:1.2.3.4:x", "all:1", "dns:x", "http:", "sctp"] {
            assert!(Net::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_says_where_to_bind_and_whom_to_connect_to() {
        let rule = Addresses { ip: "127.0.0.1".parse().ok(), port: Some(80) };
        let cases = [
            (true, "127.0.0.1:80", SocketAddrUse::TcpBind),
            (true, "127.0.0.1:80", SocketAddrUse::TcpConnect),
            (false, "127.0.0.1:81", SocketAddrUse::TcpConnect),
            (false, "127.0.0.2:80", SocketAddrUse::TcpListen),
            (true, "10.0.0.1:5000", SocketAddrUse::TcpAccept),
            // A connecting socket may be bound to any port.
            (true, "0.0.0.0:0", SocketAddrUse::TcpBind),
            (false, "127.0.0.1:0", SocketAddrUse::TcpBind),
        ];
        for (is_allowed, address, used) in cases {
            assert_eq!(rule.allow(address.parse().unwrap(), used), is_allowed, "{address} {used:?}");
        }
    }
}
