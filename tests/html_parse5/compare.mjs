// The scanner against parse5, where Node and parse5 are.
//
//     node compare.mjs LINKS_PROGRAM SEED N      N random pages
//     node compare.mjs LINKS_PROGRAM - < LIST    the files of a list
//
// LINKS_PROGRAM is the program made of links.c. parse5 is looked for beside
// this file and in NODE_PATH. Exits 1 where links differ and the scanner had
// not said that it guessed.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const { parse, html } = createRequire(import.meta.url)('parse5');
const BATCH = 500; // files a call: below any limit on arguments
const SHOWN = 5;
const OPTIONS = { sourceCodeLocationInfo: true, scriptingEnabled: false };

function isNofollow(element) {
    const rel = element.attrs.find((a) => a.name === 'rel' && !a.prefix);
    return (rel?.value ?? '').split(/[ \t\n\f\r]+/)
        .some((word) => /^nofollow$/i.test(word));
}

// The elements of a tree with href, without template's content.
function* linked(node) {
    const stack = [node];
    for (let at = stack.pop(); at; at = stack.pop()) {
        if (at.namespaceURI === html.NS.HTML &&
            ['a', 'area', 'base'].includes(at.tagName) &&
            at.attrs.some((a) => a.name === 'href')) {
            yield at;
        }
        stack.push(...(at.childNodes ?? []));
    }
}

// Where links are looked for. In a page of frames that is the head: blanks
// behind </html> may bring back copies of links whose body is gone.
function linkedPart(tree) {
    const root = tree.childNodes.find((n) => n.tagName === 'html');
    const hasFrames = root.childNodes.some((n) => n.tagName === 'frameset');
    return hasFrames ? root.childNodes.find((n) => n.tagName === 'head') : tree;
}

const escape = (text) => text.replace(/[\0-\x1f\x7f\\]/g, (c) =>
    '\\x' + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0'));

// In the order of the tags; the copies of an element count once.
function links(page) {
    const found = new Map();
    for (const e of linked(linkedPart(parse(page, OPTIONS)))) {
        const place = e.sourceCodeLocation; // some copies have none
        if (place) found.set(place.startOffset, e);
    }
    let hasBase = false;
    let text = '';
    for (const [, e] of [...found].sort(([a], [b]) => a - b)) {
        const isBase = e.tagName === 'base';
        if (isBase && hasBase) continue;
        hasBase ||= isBase;
        const kind = isBase ? 'base' : isNofollow(e) ? 'nofollow' : 'link';
        const href = e.attrs.find((a) => a.name === 'href').value;
        text += `${kind} ${escape(href)}\n`;
    }
    return text;
}

function scanned(program, files) {
    const out = execFileSync(program, files, { maxBuffer: 1 << 30 });
    const pages = new Map();
    let page;
    for (const line of out.toString('utf8').split('\n')) {
        const [, kind, file] = /^(page|guessed) (.*)$/.exec(line) ?? [];
        if (kind) {
            page = { guessed: kind === 'guessed', text: '' };
            pages.set(file, page);
        } else if (line !== '') {
            page.text += line + '\n';
        }
    }
    return pages;
}

function randomFiles(program, seed, n, directory) {
    const out = execFileSync(program, ['--random', seed, n],
        { maxBuffer: 1 << 30 }).toString();
    return out.trim().split('\n').map((hex, i) => {
        const file = path.join(directory, `${i}.html`);
        fs.writeFileSync(file, Buffer.from(hex, 'hex'));
        return file;
    });
}

function compare(program, files) {
    const sum = { pages: 0, links: 0, differ: 0, guessed: 0, wrong: 0 };
    for (let i = 0; i < files.length; i += BATCH) {
        const part = files.slice(i, i + BATCH);
        for (const [file, page] of scanned(program, part)) {
            const wanted = links(fs.readFileSync(file, 'utf8'));
            sum.pages++;
            sum.links += wanted.split('\n').length - 1;
            sum.guessed += page.guessed;
            if (wanted === page.text) continue;
            if (page.guessed) {
                sum.wrong++;
            } else if (sum.differ++ < SHOWN) {
                console.log(`differ: ${file}\n${fs.readFileSync(file)}\n` +
                    `--- scanner\n${page.text}--- parse5\n${wanted}`);
            }
        }
    }
    console.log(`${sum.pages} pages, ${sum.links} links: ${sum.differ} ` +
        `differ, ${sum.guessed} guessed (${sum.wrong} of them differ)`);
    return sum.differ === 0;
}

const [program, seed, n] = process.argv.slice(2);
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'html-'));
const files = seed === '-'
    ? fs.readFileSync(0, 'utf8').trim().split('\n')
    : randomFiles(program, seed, n, directory);
const agree = compare(program, files);
fs.rmSync(directory, { recursive: true });
process.exitCode = agree ? 0 : 1;
