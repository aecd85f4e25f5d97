/*
 * Tables of authorities and what they are by the WHATWG URL standard.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jobs/links/url_idn.h"
#include "url_table.h"

#define INVALID URL_TABLE_INVALID
#define ROWS(table) (table), sizeof(table) / sizeof *(table)

static void ports(void **state)
{
    static const struct url_row rows[] = {
        { "http://h:80/", "http://h/" },
        { "https://h:443", "https://h/" },
        { "https://h:80/", "https://h:80/" },
        { "http://h:443/", "http://h:443/" },
        { "http://h:/x", "http://h/x" },
        { "http://h:00080/x", "http://h/x" },
        { "http://h:000000000000000000008080", "http://h:8080/" },
        { "http://h:0/", "http://h:0/" },
        { "http://h:65535/", "http://h:65535/" },
        { "http://h:65536/", INVALID },
        { "http://h:99999999999999999999/", INVALID },
        { "http://h:8a/", INVALID },
        { "http://h:-1/", INVALID },
        { "http://h: 80/", INVALID },
        { "http://h:8\t0/", "http://h/" },
        { "http://h:80?q", "http://h/?q" },
        { "http://h:81#f", "http://h:81/" },
        { "http://h:81\\x", "http://h:81/x" },
        { "http://h:80:80/", INVALID },
        { "http://:80/", INVALID },
        { "http://:/", INVALID },
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
}

static void credentials(void **state)
{
    static const struct url_row rows[] = {
        { "http://u:p@h/", "http://u:p@h/" },
        { "http://u@h", "http://u@h/" },
        { "http://u:@h/", "http://u@h/" },
        { "http://:p@h/", "http://:p@h/" },
        { "http://@h/", "http://h/" },
        { "http://:@h/", "http://h/" },
        { "http://a@b@h/", "http://a%40b@h/" },
        { "http://a:b:c@h/", "http://a:b%3Ac@h/" },
        { "http://a:b@c@h/", "http://a:b%40c@h/" },
        { "http://%7eu:%c3@h/", "http://~u:%C3@h/" },
        { "http://\xc3\xa4;=[]^|@h/", "http://%C3%A4%3B%3D%5B%5D%5E%7C@h/" },
        { "http://u@H:80/", "http://u@h/" },
        { "http://u@/x", INVALID },
        { "http://u@:80/x", INVALID },
        { "http://u@", INVALID },
        { "http://@/x", INVALID },
        { "http://u/@h", "http://u/@h" },
        { "http://u\\@h", "http://u/@h" },
        { "http://u?@h", "http://u/?@h" },
        { "http://u#@h", "http://u/" },
    };
    static const struct url_row against[] = {
        { "x", "http://u:p@h:81/d/x" },
        { "/x", "http://u:p@h:81/x" },
        { "//g/x", "http://g/x" },
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
    url_table_check("http://u:p@h:81/d/y", ROWS(against));
}

static void hosts(void **state)
{
    static const struct url_row rows[] = {
        { "http://EXAMPLE.com/~A", "http://example.com/~A" },
        { "http://ex%41mple%2ecom", "http://example.com/" },
        { "http://a.b.c./x", "http://a.b.c./x" },
        { "http://a..b/", "http://a..b/" },
        { "http://.a/", "http://.a/" },
        { "http://./", "http://./" },
        { "http://-a-._b_.c/", "http://-a-._b_.c/" },
        { "http://a--b.ab--c/", "http://a--b.ab--c/" },
        { "http://a!$&'()*+,;=~`{}\"/", "http://a!$&'()*+,;=~`{}\"/" },
        { "http://a b/", INVALID },
        { "http://a%20b/", INVALID },
        { "http://a%00b/", INVALID },
        { "http://a%2Fb/", INVALID },
        { "http://a%3Ab/", INVALID },
        { "http://a%25b/", INVALID },
        { "http://a%b/", INVALID },
        { "http://a%zz/", INVALID },
        { "http://a\x7f/", INVALID },
        { "http://a\x01z/", INVALID },
        { "http://a<b/", INVALID },
        { "http://a|b/", INVALID },
        { "http://a^b/", INVALID },
        { "http://a[b/", INVALID },
        { "http://a]b/", INVALID },
        { "http://h%ff/", INVALID },
        { "http://h\xff/", INVALID },
        { "http://0x.com/", "http://0x.com/" },
        { "http://1a/", "http://1a/" },
        { "http://1e3/", "http://1e3/" },
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
}

static void ipv4(void **state)
{
    static const struct url_row rows[] = {
        { "http://1.2.3.4/", "http://1.2.3.4/" },
        { "http://1.2.3.4./", "http://1.2.3.4/" },
        { "http://1.2.3.4../", "http://1.2.3.4../" },
        { "http://127.1/", "http://127.0.0.1/" },
        { "http://1.2.772/", "http://1.2.3.4/" },
        { "http://16909060/", "http://1.2.3.4/" },
        { "http://0x7f.1/", "http://127.0.0.1/" },
        { "http://0X7F000001/", "http://127.0.0.1/" },
        { "http://0177.0.0.01/", "http://127.0.0.1/" },
        { "http://0x/", "http://0.0.0.0/" },
        { "http://0/", "http://0.0.0.0/" },
        { "http://00.0x.0/", "http://0.0.0.0/" },
        { "http://4294967295/", "http://255.255.255.255/" },
        { "http://4294967296/", INVALID },
        { "http://0x100000000/", INVALID },
        { "http://99999999999999999999999/", INVALID },
        { "http://0000000000000000000000000000001/", "http://0.0.0.1/" },
        { "http://255.255.65535/", "http://255.255.255.255/" },
        { "http://255.255.65536/", INVALID },
        { "http://256.1/", INVALID },
        { "http://1.256.1/", INVALID },
        { "http://1.2.3.256/", INVALID },
        { "http://1.2.3.4.5/", INVALID },
        { "http://1..2/", INVALID },
        { "http://.1/", INVALID },
        { "http://08/", INVALID },
        { "http://1.2.3.08/", INVALID },
        { "http://0xg/", "http://0xg/" },
        { "http://a.0xg/", "http://a.0xg/" },
        { "http://a.0x1/", INVALID },
        { "http://a.b.1/", INVALID },
        { "http://a.09/", INVALID },
        { "http://1.a/", "http://1.a/" },
        { "http://%31%2e1/", "http://1.0.0.1/" },
        { "http://\xef\xbc\x91\xef\xbc\x8e\xef\xbc\x92/", "http://1.0.0.2/" },
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
}

static void ipv6(void **state)
{
    static const struct url_row rows[] = {
        { "http://[::]/", "http://[::]/" },
        { "http://[::1]:80/", "http://[::1]/" },
        { "https://[::1]:80/", "https://[::1]:80/" },
        { "http://[1::]/", "http://[1::]/" },
        { "http://[2001:DB8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/" },
        { "http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/" },
        { "http://[1:2:0:4:5:6:7:8]/", "http://[1:2:0:4:5:6:7:8]/" },
        { "http://[1:2:3:4:5:6:7::]/", "http://[1:2:3:4:5:6:7:0]/" },
        { "http://[::2:3:4:5:6:7:8]/", "http://[0:2:3:4:5:6:7:8]/" },
        { "http://[0000:00a0::0]/", "http://[0:a0::]/" },
        { "http://[::1.2.3.4]/", "http://[::102:304]/" },
        { "http://[1:2:3:4:5:6:1.2.3.4]/", "http://[1:2:3:4:5:6:102:304]/" },
        { "http://[::ffff:255.255.255.255]/", "http://[::ffff:ffff:ffff]/" },
        { "http://u@[::1]:81/", "http://u@[::1]:81/" },
        { "http://[]/", INVALID },
        { "http://[/", INVALID },
        { "http://[::1/", INVALID },
        { "http://[::1]x/", INVALID },
        { "http://x[::1]/", INVALID },
        { "http://[:]/", INVALID },
        { "http://[:1]/", INVALID },
        { "http://[1:]/", INVALID },
        { "http://[:::]/", INVALID },
        { "http://[::1::]/", INVALID },
        { "http://[1:2:3:4:5:6:7]/", INVALID },
        { "http://[1:2:3:4:5:6:7:8:9]/", INVALID },
        { "http://[1:2:3:4:5:6:7:8::]/", INVALID },
        { "http://[12345::]/", INVALID },
        { "http://[g::]/", INVALID },
        { "http://[::1%25eth0]/", INVALID },
        { "http://[%3A:1]/", INVALID },
        { "http://[::.1.2.3]/", INVALID },
        { "http://[::1.2.3]/", INVALID },
        { "http://[::1.2.3.4.5]/", INVALID },
        { "http://[::1.2.3.256]/", INVALID },
        { "http://[::01.2.3.4]/", INVALID },
        { "http://[::1.2.3.4:5]/", INVALID },
        { "http://[1:2:3:4:5:6:7:1.2.3.4]/", INVALID },
        { "http://[::1]:65536/", INVALID },
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
}

static void international_hosts(void **state)
{
    static const struct url_row rows[] = {
        { "http://b\xc3\xbc"
          "cher.example/",
          "http://xn--bcher-kva.example/" },
        { "http://B\xc3\x9c"
          "CHER.example/",
          "http://xn--bcher-kva.example/" },
        { "http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/" },
        { "http://bu\xcc\x88"
          "cher.example/",
          "http://xn--bcher-kva.example/" },
        { "http://XN--bcher-KVA.example/", "http://xn--bcher-kva.example/" },
        /* Not transitional: sharp s, final sigma. */
        { "http://fa\xc3\x9f.de/", "http://xn--fa-hia.de/" },
        { "http://fa\xe1\xba\x9e.de/", "http://xn--fa-hia.de/" },
        { "http://\xcf\x82/", "http://xn--3xa/" },
        { "http://\xce\xa3/", "http://xn--4xa/" },
        /* Other full stops; full-width letters; a soft hyphen. */
        { "http://\xe6\x97\xa5\xe3\x80\x82"
          "c/",
          "http://xn--wgv.c/" },
        { "http://\xef\xbc\xa1\xef\xbc\xa2.c/", "http://ab.c/" },
        { "http://a\xc2\xad"
          "b.c/",
          "http://ab.c/" },
        { "http://\xc2\xad/", INVALID },
        /* What IDNA 2008 refuses and UTS 46 takes. */
        { "http://\xe2\x98\x83.net/", "http://xn--n3h.net/" },
        { "http://\xf0\x9f\x92\xa9.la/", "http://xn--ls8h.la/" },
        { "http://xn--ls8h.la/", "http://xn--ls8h.la/" },
        { "http://r3---sn.\xc3\xa4/", "http://r3---sn.xn--4ca/" },
        { "http://-\xc3\xa4-.c/", "http://xn-----via.c/" },
        { "http://\xc3\xa4_b!.c/", "http://xn--_b!-pla.c/" },
        { "http://\xc3\xa4..c/", "http://xn--4ca..c/" },
        { "http://\xe2\x89\xa0/", "http://xn--1ch/" },
        /* Capital palochka, a Hangul filler. */
        { "http://\xd3\x80/", "http://xn--s5a/" },
        { "http://a\xe3\x85\xa4/", "http://a/" },
        /* Joiners stand where Unicode has them joined. */
        { "http://a\xe2\x80\x8d"
          "b/",
          INVALID },
        { "http://a\xe2\x80\x8c"
          "b/",
          INVALID },
        { "http://\xe0\xa4\x95\xe0\xa5\x8d\xe2\x80\x8d\xe0\xa4\xb7/",
          "http://xn--11b2ezcw70k/" },
        /* Right to left: a label may not begin with a digit. */
        { "http://\xd7\x90"
          "1.c/",
          "http://xn--1-zhc.c/" },
        { "http://1\xd7\x90.c/", INVALID },
        { "http://1.\xd7\x90/", INVALID },
        { "http://\xcc\x81"
          "a.c/",
          INVALID }, /* a mark comes first */
        { "http://\xef\xbf\xbd.c/", INVALID },
        { "http://\xee\x80\x80.c/", INVALID },
        { "http://\xc3\xa4%20.c/", INVALID },
        { "http://\xc3\xa4%2f.c/", INVALID },
        { "http://\xc2\xa8.c/", INVALID }, /* has a space when decomposed */
        { "http://\xe2\x84\x80.c/", INVALID }, /* "a/c" */
        { "http://xn--/", INVALID },
        { "http://xn--a/", INVALID },
        { "http://xn--abc-.c/", INVALID },
        { "http://xn--zca.xn--\xc3\xa4/", INVALID },
        { "http://a.xn--9/", INVALID },
        { "http://axn--a/", "http://axn--a/" },
        { "http://xn-.a/", "http://xn-.a/" },
        { "http://xn--xn--ug-ll3g.c/", INVALID },
        { "http://xn--bcher-kva.1/", INVALID },
        { "http://a.\xd9\xa1/", INVALID }, /* an Arabic digit */
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
}

/* The one limit: URL_IDN_MAX bytes of a domain that is not plain ASCII. */
static void long_domains(void **state)
{
    static const char head[] = "http://";
    struct url_base base = { 0 };
    char url[sizeof head + URL_IDN_MAX + 2];
    char *host = url + sizeof head - 1;

    (void)state;
    memset(url, 'a', sizeof url);
    memcpy(url, head, sizeof head - 1);
    for (size_t len = URL_IDN_MAX; len <= URL_IDN_MAX + 1; len++) {
        struct bytes text = bytes_of(url, sizeof head - 1 + len);

        memcpy(host, "axn--", 5);
        assert_int_equal(url_base_set(&base, text), URL_OK);
        memcpy(host, "xn--4ca.", 8);
        assert_int_equal(url_base_set(&base, text),
                         len <= URL_IDN_MAX ? URL_OK : URL_INVALID);
    }
    /* Short as UTF-8, long in ASCII. */
    for (size_t i = 0; i < URL_IDN_MAX / 3; i++) {
        memcpy(host + 3 * i, "\xc3\xa4.", 3);
    }
    assert_int_equal(url_base_set(&base, bytes_of(url, sizeof head - 1 + 999)),
                     URL_INVALID);
    assert_int_equal(url_base_set(&base, bytes_of(url, sizeof head - 1 + 300)),
                     URL_OK);
    url_base_fini(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports),        cmocka_unit_test(credentials),
        cmocka_unit_test(hosts),        cmocka_unit_test(ipv4),
        cmocka_unit_test(ipv6),         cmocka_unit_test(international_hosts),
        cmocka_unit_test(long_domains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
