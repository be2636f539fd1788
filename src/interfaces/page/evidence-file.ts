/**
 * The evidence file: one HTML file for people without access to the ledger. Its script verifies it and shows it. The
 * policy of the page forbids every connection, and every other script.
 *
 * The markup is written as a browser writes it, so that the script can compare the page with the digest in it.
 */
import { createHash } from 'node:crypto'
import { toWire } from '../../domain/values/revision.js'
import type { Evidence } from '../../library/ledger.js'
import { assetText } from './assets.js'

const NO_DIGEST = '0'.repeat(64)
const DIGEST = `<meta name="file-sha256" content="${NO_DIGEST}">`

const cspHash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** JSON that can be inside a script element. */
const embedded = (evidence: Evidence): string => toWire(evidence).replaceAll('<', String.raw`\u003c`)

/** The text of the file. */
export async function evidenceFile(evidence: Evidence): Promise<string> {
  const [style, script] = await Promise.all([assetText('evidence.css'), assetText('evidence.js')])
  const policy = `default-src 'none'; script-src ${cspHash(script)}; style-src ${cspHash(style)}; base-uri 'none'; form-action 'none'`
  const text = `<!doctype html>
<html lang="en"><head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
${DIGEST}
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Evidence from the log of an AI system</title>
<style>${style}</style>
</head><body>
<main>
<h1>Evidence from the log of an AI system</h1>
<div id="content"><div class="verdict failed"><b>Not verified</b><p>The script in this file verifies and shows its content. It has not run: scripts are switched off in this browser, or the file was changed.</p></div></div>
</main>
<script type="application/json" id="evidence">${embedded(evidence)}</script>
<script type="module">${script}</script></body></html>`
  return text.replace(NO_DIGEST, createHash('sha256').update(text).digest('hex'))
}
