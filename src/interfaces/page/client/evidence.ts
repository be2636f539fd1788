/**
 * The script of an evidence file. The browser runs it only if it is the one whose hash the policy of the page names. It
 * uses no network: the policy forbids it.
 */
import { hexOf, sha256, utf8 } from './evidence/bytes.js'
import { showBroken, showEvidence } from './evidence/show.js'
import { verifyEvidence, type Step } from './evidence/verify.js'

const DIGEST = /<meta name="file-sha256" content="([0-9a-f]{64})">/u

/** Whether the page is byte for byte the one that was written, as far as the browser keeps its bytes. */
async function pageStep(): Promise<Step> {
  const source = `<!doctype html>\n${document.documentElement.outerHTML}`
  const stated = DIGEST.exec(source)?.[1] ?? ''
  const digest = hexOf(await sha256(utf8(source.replace(stated, '0'.repeat(64)))))
  return document.compatMode === 'CSS1Compat' && digest === stated
    ? {
        name: 'This file',
        state: 'ok',
        sentence: 'The file was not damaged by accident. The other checks look for forgery.',
      }
    : {
        name: 'This file',
        state: 'failed',
        sentence:
          'The file is not as it was written. If all other steps passed, an extension of this browser may have changed the page: open the file in a private window.',
      }
}

async function start(): Promise<void> {
  const content = document.querySelector('#content')
  const json = document.querySelector('#evidence')?.textContent ?? ''
  // Before anything changes in the page.
  const page = await pageStep()
  try {
    const verified = await verifyEvidence(json)
    content?.replaceChildren(...showEvidence(verified, [page, ...verified.steps]))
  } catch (error) {
    content?.replaceChildren(...showBroken(error instanceof Error ? error.message : String(error)))
  }
}

void start()
