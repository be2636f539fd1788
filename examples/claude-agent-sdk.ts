/**
 * A session store of the Claude Agent SDK in a ledger: a session of one run can be resumed in the next one, on any
 * machine. A stub replaces the SDK's `query` and writes the lines of a sample, so that this example runs without the SDK
 * and without a key. Run it with `node node_modules/context-ledger/dist/examples/claude-agent-sdk.js`.
 */
import { openLedger } from 'context-ledger'
import {
  ledgerSessionStore,
  TRANSCRIPT_SCOPE,
  type LedgerSessionStore,
  type SessionStoreEntry,
} from 'context-ledger/claude-agent-sdk'
import { readFileSync } from 'node:fs'

const sample = [
  new URL('claude-code-session.jsonl', import.meta.url),
  new URL('../../examples/claude-code-session.jsonl', import.meta.url),
]

function linesOf(): SessionStoreEntry[] {
  for (const file of sample) {
    try {
      return readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as SessionStoreEntry) // oxlint-disable-line typescript/no-unsafe-type-assertion
    } catch {
      // The compiled file is not in the directory of the sample.
    }
  }
  throw new Error('the sample is not there')
}

/** The part of the SDK that the example uses: `import { query } from '@anthropic-ai/claude-agent-sdk'`. */
type Query = (asked: {
  prompt: string
  options: { sessionStore: LedgerSessionStore; resume?: string }
}) => AsyncIterable<{ type: string; session_id?: string }>

/** A stub of the SDK: the first run writes the first lines of the sample, a resumed run the rest. */
const fromSample: Query = async function* (asked) {
  const { sessionStore, resume } = asked.options
  const entries = linesOf()
  const sessionId = String(entries[0]?.['sessionId'])
  const key = { projectKey: 'harbour', sessionId }
  const recorded = resume === undefined ? [] : ((await sessionStore.load(key)) ?? [])
  await sessionStore.append(key, resume === undefined ? entries.slice(0, 20) : entries.slice(recorded.length))
  yield { type: 'result', session_id: sessionId }
}

/** @returns the lines that a resumed session gets, and the compactions that Claude Code made in it */
export async function claudeAgentSdk(
  say: (line: string) => void = console.log,
  query: Query = fromSample,
): Promise<{ lines: number; compactions: number }> {
  const ledger = await openLedger({ store: 'memory' })
  try {
    const sessionStore = ledgerSessionStore({ ledger })
    let sessionId = ''
    for await (const message of query({ prompt: 'Why does the export lose rows?', options: { sessionStore } }))
      sessionId = message.session_id ?? sessionId
    // Later, on another machine: the session continues from the ledger.
    const options = { sessionStore, resume: sessionId }
    for await (const message of query({ prompt: 'And now mend it.', options })) say(message.type)

    let lines = 0
    for (const { conversationId } of (await ledger.list({ scope: TRANSCRIPT_SCOPE })).conversations)
      for await (const { type } of ledger.log(conversationId)) if (type === 'MessageAppended') lines += 1
    say(`A session that is resumed again gets ${String(lines)} lines, as they came.`)
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
