/**
 * `npm start`: a tour with the sample conversation: import with compaction, the model's context, the tokens saved, one
 * search hit with its provenance, and the next commands. Needs no key and no server. The ledger persists; a second run
 * skips the recorded messages and prints the same. `npm start -- --store DIR` uses another ledger.
 */
import { parseArgs } from 'node:util'
import { join } from 'node:path'
import type { Context, Ledger, SearchHit } from '../../library/ledger.js'
import { viewText } from '../../domain/compaction/context.js'
import { contentText } from '../../domain/values/message.js'
import { thrownSentence } from '../../domain/values/thrown.js'
import { LedgerError } from '../../lib/ledger-error.js'
import { shellWord } from '../../lib/platform.js'
import { describeError } from './errors.js'
import { DEFAULT_STORE, type Flags } from './flags.js'
import { runImport } from './import/import-files.js'
import { allWritten, brief, colours, count, line, many, note, printable, watchOutput } from './output.js'
import { provenance } from './reports/hits.js'
import { withLedger } from './session.js'

const SAMPLE = join('examples', 'sample-conversation.jsonl')
const CONVERSATION = 'sample-harbour'
const QUERY = 'why is the total of invoice INV-2026-00317 wrong'

// A window so small that 201 messages need many cycles, and a buffer so small that batches are re-summarized.
const POLICY = { 'model-max-tokens': '2400', buffer: '4' } as const

const VIEW_LINES = 14
const LINE_CHARACTERS = 150

const heading = (text: string): Promise<void> => line(`\n${colours.bold(colours.cyan(text))}`)

async function showContext(context: Context): Promise<void> {
  for (const [at, message] of context.messages.entries()) {
    const whole = contentText(message.content)
    const view = at === context.viewAt ? viewText(context) : undefined
    const text = view === undefined ? whole : whole.slice(0, whole.length - view.length).trimEnd()
    if (view !== undefined) {
      if (text !== '') await line(`${colours.bold(message.role)} ${brief(text, LINE_CHARACTERS)}`)
      const lines = printable(view)
        .split('\n')
        .filter((part) => part.trim() !== '')
      await line(`${colours.bold(message.role)} ${colours.dim('(compacted part)')}`)
      for (const part of lines.slice(0, VIEW_LINES)) await line(`    ${brief(part, LINE_CHARACTERS)}`)
      if (lines.length > VIEW_LINES)
        await line(colours.dim(`    … ${many(lines.length - VIEW_LINES, 'more line')} of summaries`))
    } else {
      const calls = (message.tool_calls ?? []).map(
        (call) => `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`,
      )
      await line(
        `${colours.bold(message.role)} ${brief([text, ...calls].filter((part) => part !== '').join(' '), LINE_CHARACTERS)}`,
      )
    }
  }
}

async function showSavings(ledger: Ledger, context: Context): Promise<void> {
  const counts = { messages: 0, tokens: 0, cycles: 0, batches: 0, resummarized: 0 }
  for await (const event of ledger.log(CONVERSATION)) {
    if (event.type === 'MessageAppended') {
      counts.messages += 1
      counts.tokens += event.data.tokens
    } else if (event.type === 'MessagesPruned') counts.cycles += 1
    else if (event.type === 'BatchArchived') counts.batches += 1
    else if (event.type === 'BatchesResummarized') counts.resummarized += 1
  }
  const { ok, events } = await ledger.admin.verify(CONVERSATION)
  const share = Math.round((100 * context.tokens) / Math.max(1, counts.tokens))
  await line(
    `${many(counts.messages, 'message')} with ${count(counts.tokens)} tokens → a context of ${count(context.tokens)} tokens (${String(share)} %)`,
  )
  await line(
    `${many(counts.cycles, 'compaction cycle')}, ${many(counts.batches, 'batch', 'batches')}, ${many(counts.resummarized, 're-summarization')}, each recorded with its summarizer and sources`,
  )
  await line(
    ok
      ? `verified over ${many(events, 'event')}: every message is live or covered by exactly one batch`
      : colours.red('verification found problems: run `verify`, see below'),
  )
}

async function showHit(hit: SearchHit | undefined): Promise<void> {
  if (hit === undefined) {
    await line('nothing found')
    return
  }
  await line(brief(hit.text, 300))
  await line(colours.dim(provenance(hit)))
}

/** The next commands; with `--store` if they would open another store without it. */
function nextCommands(store: string, hit: SearchHit | undefined): string[] {
  const usual = process.env['CONTEXT_LEDGER_STORE'] || DEFAULT_STORE
  const storeFlag = store === usual ? '' : ` --store ${shellWord(store)}`
  const from = hit === undefined ? '' : ` --from ${hit.firstRevision.toString()} --limit 5`
  return [
    `context ${CONVERSATION}`,
    `forgotten ${CONVERSATION}`,
    'page',
    `log ${CONVERSATION}${from}`,
    `search "double booking" --conversation ${CONVERSATION}`,
    'list',
    'verify',
    '--help',
  ].map((words) => (words === '--help' ? 'npx context-ledger --help' : `npx context-ledger ${words}${storeFlag}`))
}

/** The store that the arguments name. */
function storeOf(args: readonly string[]): string {
  try {
    const { values } = parseArgs({ args: [...args], options: { store: { type: 'string', default: DEFAULT_STORE } } })
    return values.store
  } catch (error) {
    throw new LedgerError(
      'Usage',
      `${thrownSentence(error)}: \`npm start\` takes --store DIR alone; \`npx context-ledger --help\` lists the commands`,
    )
  }
}

async function play(store: string): Promise<void> {
  const flags: Flags = { store, summarizer: 'extractive', ...POLICY }
  await heading(
    `1. Import ${SAMPLE}: a day of a coding agent, one message at a time, for a model of ${count(Number(POLICY['model-max-tokens']))} tokens`,
  )
  await runImport(flags, {
    files: [SAMPLE],
    json: false,
  })
  await withLedger({ store }, {}, async ({ ledger }) => {
    const context = await ledger.context(CONVERSATION)
    await heading('2. The model’s context now (shortened for the screen)')
    await showContext(context)
    await heading('3. Tokens saved')
    await showSavings(ledger, context)
    await heading(`4. Removed messages can still be found: "${QUERY}"`)
    const { hits } = await ledger.search(QUERY, { conversationId: CONVERSATION })
    const hit = hits.find(({ batchId }) => batchId !== null) ?? hits[0]
    await showHit(hit)
    await heading('5. Continue with this ledger')
    for (const command of nextCommands(store, hit)) await line(`  ${command}`)
  })
}

await watchOutput()
try {
  await play(storeOf(process.argv.slice(2)))
  await allWritten()
} catch (error) {
  const { exitCode, message } = await describeError(error)
  note(message)
  process.exitCode = exitCode
}
