// The formats of JSON Schema as patterns. Each is narrower than its RFC where readers differ: what matches is valid for all of them.
#include <array>
#include <string_view>

#include "wick/text/grammar/json_schema_compiler.h"

namespace wick {
namespace {

#define WICK_DATE                                         \
  "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-" \
  "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
#define WICK_LEAP_DAY "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29"
#define WICK_ANY_DATE "(" WICK_DATE "|" WICK_LEAP_DAY ")"
#define WICK_TIME "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define WICK_OCTET "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define WICK_IPV4 WICK_OCTET "(\\." WICK_OCTET "){3}"
// Of 63 characters at most; no two hyphens, which begin what must be Punycode.
#define WICK_LABEL "[A-Za-z0-9](-?[A-Za-z0-9]){0,31}"
#define WICK_HEX4 "[0-9A-Fa-f]{1,4}"
#define WICK_IPV6                                                                                                                  \
  "((" WICK_HEX4 ":){7}" WICK_HEX4 "|(" WICK_HEX4 ":){1,7}:|(" WICK_HEX4 ":){1,6}:" WICK_HEX4 "|(" WICK_HEX4 ":){1,5}(:" WICK_HEX4 \
  "){1,2}|(" WICK_HEX4 ":){1,4}(:" WICK_HEX4 "){1,3}|(" WICK_HEX4 ":){1,3}(:" WICK_HEX4 "){1,4}|(" WICK_HEX4 ":){1,2}(:" WICK_HEX4 \
  "){1,5}|" WICK_HEX4 ":(:" WICK_HEX4 "){1,6}|:((:" WICK_HEX4 "){1,7}|:))"
// The last character before the padding has no bits beyond the bytes.
#define WICK_BASE64(others) "([A-Za-z0-9" others "]{4})*([A-Za-z0-9" others "][AQgw]==|[A-Za-z0-9" others "]{2}[AEIMQUYcgkosw048]=)?"
#define WICK_UUID(version) "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-" version "[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
#define WICK_UNRESERVED "[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}"
#define WICK_PATH "(" WICK_UNRESERVED "|[:@])"
#define WICK_TAIL "(\\?(" WICK_UNRESERVED "|[:@/?])*)?(#(" WICK_UNRESERVED "|[:@/?])*)?"
#define WICK_HIER "//(" WICK_LABEL "(\\." WICK_LABEL "){0,8})(:[0-9]{1,4})?(/" WICK_PATH "*)*"
#define WICK_URI "[A-Za-z][A-Za-z0-9+.-]*:(" WICK_HIER "|/?" WICK_PATH "+(/" WICK_PATH "*)*)" WICK_TAIL

struct Format {
  std::string_view name;
  const char* pattern;
};

// Beside those of JSON Schema there are the names that Pydantic and OpenAPI write. RFC 3339 for dates and times without leap seconds, RFC
// 1123 for host names, RFC 4291 for IPv6 without zones, RFC 3986 for URIs, RFC 6570 for their templates, RFC 4648 for base64.
constexpr std::array<Format, 39> kFormats = {{
    {"date", WICK_ANY_DATE},
    {"time", WICK_TIME},
    {"date-time", WICK_ANY_DATE "T" WICK_TIME},
    {"duration",
     "P([0-9]+W|([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)(T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))?"
     "|T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))"},
    {"email", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@" WICK_LABEL "(\\." WICK_LABEL "){0,4}"},
    {"idn-email", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@" WICK_LABEL "(\\." WICK_LABEL "){0,4}"},
    {"hostname", WICK_LABEL "(\\." WICK_LABEL "){0,3}"},
    {"idn-hostname", WICK_LABEL "(\\." WICK_LABEL "){0,3}"},
    {"ipv4", WICK_IPV4},
    {"ipv6", WICK_IPV6},
    {"uri", WICK_URI},
    {"iri", WICK_URI},
    {"uri-reference", "(" WICK_URI "|/" WICK_PATH "+(/" WICK_PATH "*)*" WICK_TAIL "|" WICK_TAIL ")"},
    {"iri-reference", "(" WICK_URI "|/" WICK_PATH "+(/" WICK_PATH "*)*" WICK_TAIL "|" WICK_TAIL ")"},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"json-pointer", "(/([^~/]|~[01])*)*"},
    {"relative-json-pointer", "(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)"},
    {"regex", "[A-Za-z0-9 _,:;=<>@%&!~'\"/-]*"},
    {"uri-template",
     "(" WICK_UNRESERVED "|[:@/?#]|\\{[+#./;?&]?[A-Za-z0-9_]+(\\*|:[1-9][0-9]{0,3})?(,[A-Za-z0-9_]+(\\*|:[1-9][0-9]{0,3})?)*\\})*"},
    {"uuid1", WICK_UUID("1")},
    {"uuid3", WICK_UUID("3")},
    {"uuid4", WICK_UUID("4")},
    {"uuid5", WICK_UUID("5")},
    {"uuid6", WICK_UUID("6")},
    {"uuid7", WICK_UUID("7")},
    {"uuid8", WICK_UUID("8")},
    // With host bits of 0, at whole octets and groups.
    {"ipv4network",
     "(" WICK_OCTET "\\.0\\.0\\.0/8|" WICK_OCTET "\\." WICK_OCTET "\\.0\\.0/16|(" WICK_OCTET "\\.){3}0/24|" WICK_IPV4 "/32)"},
    {"ipv6network", "(" WICK_HEX4 "::/16|(" WICK_HEX4 ":){2}:/32|(" WICK_HEX4 ":){3}:/48|(" WICK_HEX4 ":){4}:/64|" WICK_IPV6 "/128)"},
    {"ipv4interface", WICK_IPV4 "/([12]?[0-9]|3[0-2])"},
    {"ipv6interface", WICK_IPV6 "/([1-9]?[0-9]|1[01][0-9]|12[0-8])"},
    {"ipvanyaddress", "(" WICK_IPV4 "|" WICK_IPV6 ")"},
    {"base64", WICK_BASE64("+/")},
    {"base64url", WICK_BASE64("_-")},
    {"byte", WICK_BASE64("+/")},
    {"path", "[^\\x00-\\x1f]+"},
    {"file-path", "[^\\x00-\\x1f]+"},
    {"directory-path", "[^\\x00-\\x1f]+"},
    {"password", "[^]*"},
    {"binary", "[^]*"},
}};

#undef WICK_DATE
#undef WICK_LEAP_DAY
#undef WICK_ANY_DATE
#undef WICK_TIME
#undef WICK_OCTET
#undef WICK_IPV4
#undef WICK_LABEL
#undef WICK_HEX4
#undef WICK_IPV6
#undef WICK_BASE64
#undef WICK_UUID
#undef WICK_UNRESERVED
#undef WICK_PATH
#undef WICK_TAIL
#undef WICK_HIER
#undef WICK_URI

}  // namespace

const char* json_format_pattern(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format.pattern;
  }
  return nullptr;
}

}  // namespace wick
