/**
 * A session store of the Claude Agent SDK in a ledger. The SDK hands the store each line of a transcript as Claude Code
 * writes it; here the lines of a sample are handed over in its place, so that this runs without the SDK and without a
 * key. Run it with `node node_modules/context-ledger/dist/examples/claude-agent-sdk.js`.
 */
import { openLedger } from 'context-ledger'
import { ledgerSessionStore, type SessionStoreEntry } from 'context-ledger/claude-agent-sdk'
import { readFileSync } from 'node:fs'

const sample = [
  new URL('claude-code-session.jsonl', import.meta.url),
  new URL('../../examples/claude-code-session.jsonl', import.meta.url),
]

function linesOf(): SessionStoreEntry[] {
  for (const place of sample) {
    try {
      return readFileSync(place, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as SessionStoreEntry) // oxlint-disable-line typescript/no-unsafe-type-assertion
    } catch {
      // Compiled, this file lies beside others than the sample.
    }
  }
  throw new Error('the sample is not there')
}

/** @returns the lines that a resumed session gets, and the compactions that Claude Code made in it */
export async function claudeAgentSdk(
  say: (line: string) => void = console.log,
): Promise<{ lines: number; compactions: number }> {
  const ledger = await openLedger({ store: 'memory' })
  try {
    // With the SDK: query({ prompt, options: { sessionStore } })
    const sessionStore = ledgerSessionStore({ ledger })
    const entries = linesOf()
    const sessionId = '3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'
    const key = { projectKey: 'harbour', sessionId }
    for (let at = 0; at < entries.length; at += 5) await sessionStore.append(key, entries.slice(at, at + 5))
    const lines = (await sessionStore.load(key))?.length ?? 0
    say(`A resumed session gets ${String(lines)} lines, as they came.`)
    const { conversations, totals } = await ledger.forgotten(`claude-code/${sessionId}`)
    say(
      `What Claude Code's own compaction forgot of ${String(conversations)} conversation: ${JSON.stringify(totals).slice(0, 200)}…`,
    )
    let compactions = 0
    for await (const { type } of ledger.log(`claude-code/${sessionId}`))
      if (type === 'CompactionObserved') compactions += 1
    return { lines, compactions }
  } finally {
    await ledger.close()
  }
}

if (/[\\/]claude-agent-sdk\.[jt]s$/u.test(process.argv[1] ?? '')) await claudeAgentSdk()
