#include "jobs/aggregate/quoted.h"

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utf8.h"

static const char base64_open[] = "{\"base64\":\"";
static const char base64_close[] = "\"}";

static bool append_base64(struct buf *out, struct bytes b)
{
    bool ok = true;

    for (size_t i = 0; ok && i < b.len; i += 3) {
        char group[BASE64_GROUP];

        base64_group(group, b.data + i, b.len - i < 3 ? b.len - i : 3);
        ok = buf_append(out, group, sizeof group);
    }
    return ok;
}

bool quoted_append(struct buf *out, struct bytes text)
{
    if (utf8_is_well_formed(text.data, text.len)) {
        return json_text_append(out, text);
    }
    return buf_append_string(out, base64_open) && append_base64(out, text) &&
           buf_append_string(out, base64_close);
}
