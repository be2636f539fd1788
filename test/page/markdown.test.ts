/** Markdown of conversations: what is rendered, and that hostile text stays text. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { html } from 'hono/html'
import { Markdown } from '../../src/interfaces/page/views/markdown.js'
import { markedWords } from '../../src/interfaces/page/views/text.js'

const render = async (text: string, query?: string): Promise<string> =>
  (await html`${Markdown({ text, words: markedWords(query) })}`).toString()

describe('Markdown of a message', () => {
  it('has lists, emphasis, tables and highlighted code', async () => {
    expect(await render('- **a**\n- `b`')).toContain('<li><strong>a</strong></li>')
    expect(await render('# Title')).toContain('<p class="h h1">Title</p>')
    expect(await render('| a |\n|---|\n| b |')).toContain('<td class="head">a</td>')
    expect(await render('```ts\nconst a = 1\n```')).toContain('<span class="hljs-keyword">const</span>')
    expect(await render('```unknown-language\nconst a = 1\n```')).toContain('<pre><code>const a = 1')
  })

  it('marks the words of a query, and no character reference', async () => {
    expect(await render('the berth & <b>', 'berth amp lt')).toContain('the <mark>berth</mark> &amp; &lt;b&gt;')
  })

  it('has links to the web only, and shows invisible characters', async () => {
    expect(await render('[a](https://example.org/?b=1&c="2")')).toMatch(
      /<a href="https:\/\/example\.org\/[^"]*" title="[^"]*" target="_blank" rel="noopener noreferrer nofollow">a<\/a>/u,
    )
    for (const address of ['javascript:alert(1)', '/verify?run=1', 'data:text/html,x', 'file:///etc/passwd'])
      expect(await render(`[a](${address})`)).not.toContain('href=')
    expect(await render('abc\u202Egnp.exe')).toContain('abc<span class="unseen">U+202E</span>gnp.exe')
  })

  it('contains no element and no attribute of the text', async () => {
    const piece = fc.constantFrom(
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      '![a](https://example.org/x.png "t\\" onerror=alert(1)")',
      '[a](https://example.org/" onclick="alert(1))',
      '[a](<javascript:alert(1)>)',
      '```"><script>\n<img src=x>\n```\n',
      '```html\n<img src=x onerror=alert(1)>\n```\n',
      '<!--',
      ']]>',
      '`',
      '**',
      '\n\n',
      '> ',
      '&lt;img&gt;',
      '\u202e',
      '"\'',
      '| a | b |\n|---|---|\n',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const text = await render(pieces.join(''), 'img script alert')
        for (const [, name = '', attributes = ''] of text.matchAll(/<([a-z0-9]+)((?:"[^"]*"|[^">])*)>/giu)) {
          expect(name).not.toMatch(/^(?:script|img|iframe|style|svg|object|link|meta)$/iu)
          expect(attributes).toMatch(/^(?:\s(?:class|href|title|target|rel|start)="[^"<>]*")*\s?\/?$/u)
          expect(attributes).not.toMatch(/href="(?!https?:|mailto:)/u)
        }
      }),
    )
  })
})
