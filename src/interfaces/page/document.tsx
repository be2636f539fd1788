/**
 * A self-contained HTML document for sharing: no server, scripts or network access. A content security policy enforces
 * this.
 */
import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { assetText } from './assets.js'
import { plain } from './views/text.js'

/** The HTML of a document with inline style. */
export async function documentOf(title: string, content: Child): Promise<string> {
  const style = `${await assetText('page.css')}\n`
  const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'`
  const document = await html`${(
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta http-equiv="content-security-policy" content={policy} />
          <meta name="referrer" content="no-referrer" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>{`${plain(title)} · Context Ledger`}</title>
          {/* The built style sheet. Never put text of a conversation here. */}
          <style>{raw(style)}</style>
        </head>
        <body>
          <main>{content}</main>
        </body>
      </html>
    </>
  )}`
  return document.toString()
}
