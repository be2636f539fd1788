/**
 * Renders Markdown of conversations, which is untrusted: HTML in it stays text, images are not loaded, and only links to
 * web and mail addresses are links. Invisible characters are shown as code points.
 */
import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import MarkdownIt, { type Token } from 'markdown-it'
import hljs from './highlighter.js'
import { codePointName, INVISIBLE_ALL } from './text.js'

/** Longer code is not highlighted. */
const MAX_HIGHLIGHTED = 20_000

const markdown = new MarkdownIt('default', { html: false, linkify: false, typographer: false, breaks: true })
const escape = (text: string): string => markdown.utils.escapeHtml(text)

/** Code with highlighting as HTML, if the language is known. */
function highlighted(code: string, language: string): string {
  if (code.length > MAX_HIGHLIGHTED || hljs.getLanguage(language) === undefined) return escape(code)
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

const block = (code: string, language: string): string => `<pre><code>${highlighted(code, language)}</code></pre>`
const languageOf = (info: string): string => /^\w[\w+#-]{0,30}/u.exec(info)?.[0] ?? ''
/** A quotation mark cannot end the attribute, because the href is escaped. */
const attributeOf = (token: Token | undefined, name: string): string => escape(String(token?.attrGet(name) ?? ''))

markdown.renderer.rules = {
  ...markdown.renderer.rules,
  fence: (tokens, at) => block(tokens[at]?.content ?? '', languageOf(tokens[at]?.info ?? '')),
  code_block: (tokens, at) => block(tokens[at]?.content ?? '', ''),
  // The headings of a message are not headings of the page.
  heading_open: (tokens, at) => `<p class="h ${tokens[at]?.tag ?? ''}">`,
  heading_close: () => '</p>',
  th_open: () => '<td class="head">',
  th_close: () => '</td>',
  image: (tokens, at) => `[${escape(`image: ${tokens[at]?.content ?? ''}`)} ${attributeOf(tokens[at], 'src')}]`,
  link_open: (tokens, at) => {
    const href = attributeOf(tokens[at], 'href')
    return /^(?:https?:\/\/|mailto:)/iu.test(href)
      ? `<a href="${href}" title="${href}" target="_blank" rel="noopener noreferrer nofollow">`
      : `<u title="${href}">`
  },
  link_close: (tokens, at) => {
    // Links do not nest, so the last opening token is the one that this token closes.
    const opening = tokens.slice(0, at).findLast(({ type }) => type === 'link_open')
    return /^(?:https?:\/\/|mailto:)/iu.test(String(opening?.attrGet('href') ?? '')) ? '</a>' : '</u>'
  },
}

/** Applies a change to the texts of HTML, and another to its tags. In our HTML, attributes have no `<` and no `>`. */
const within = (html: string, text: (part: string) => string, tag: (part: string) => string): string =>
  html.replaceAll(/<[^>]*>|[^<]+/gu, (part) => (part.startsWith('<') ? tag(part) : text(part)))

/** Marks the words of a query in a text of HTML; a character reference such as `&lt;` stays whole. */
const markedIn = (text: string, words: RegExp): string =>
  text.replaceAll(new RegExp(`&(?:\\w+|#\\w+);|${words.source}`, 'giu'), (found) =>
    /^&.*;$/u.test(found) ? found : `<mark>${found}</mark>`,
  )

function withVisible(html: string, words: RegExp | undefined): string {
  return within(
    html,
    (text) =>
      (words === undefined ? text : markedIn(text, words)).replaceAll(
        INVISIBLE_ALL,
        (character) => `<span class="unseen">${codePointName(character)}</span>`,
      ),
    (tag) => tag.replaceAll(INVISIBLE_ALL, codePointName),
  )
}

/** A text in Markdown, with the words of a query marked. */
export function Markdown({ text, words }: { text: string; words?: RegExp | undefined }): Child {
  return <div class="md">{raw(withVisible(markdown.render(text.toWellFormed()), words))}</div>
}

/** Code with highlighting. */
export function Code({ text, language = '' }: { text: string; language?: string }): Child {
  return <pre class="code">{raw(withVisible(highlighted(text.toWellFormed(), language), undefined))}</pre>
}

/** The marks at the beginning of a line: a heading, a list, a quotation. */
const HEADING = /^#{1,6}\s+/u

/** A line of a summary: inline Markdown without links, because the line is a link itself. */
export function inlineOf(
  line: string,
  words: RegExp | undefined,
): { readonly isHeading: boolean; readonly content: Child } {
  const isHeading = HEADING.test(line)
  const text = line.replace(HEADING, '').replace(/^(\s*)[-*]\s+/u, '$1• ')
  const inline = lineMarkdown.renderInline(text.toWellFormed())
  return { isHeading, content: raw(withVisible(inline, words)) }
}

const lineMarkdown = new MarkdownIt('zero', { html: false }).enable(['emphasis', 'backticks', 'escape'])
