/**
 * Checks every context of a directory of conversations against the rules of the APIs: each conversation at three window
 * sizes, in each way in which a context reaches a model, with the extractive summarizer. Prints the violations, and the
 * share of requests that only add messages to the previous request, for pairs without a compaction cycle in between.
 *
 * `CONTEXT_LEDGER_DATA=FOLDER npx tsx scripts/check-contexts.ts [MESSAGES] [WAY…]`: MESSAGES is the maximum number of
 * messages to play of each conversation (default: all); without a WAY all are checked. Exits with 1 if a rule is
 * broken.
 */
import { LedgerError } from '../src/lib/ledger-error.js'
import { conversationsOf, dataFolder, NO_DATA } from '../bench/support/data.js'
import { openLedger, type Ledger, type MessageInput } from '../src/index.js'
import { contentText } from '../src/domain/values/message.js'
import { problemsOfEveryApi } from '../test/support/chat-validity.js'
import { WAY_NAMES, WAYS, type Play, type WayName } from '../test/support/ways-to-a-model.js'

const WINDOWS = [1_500, 8_000, 32_000]

interface Tally {
  contexts: number
  violations: number
  pairs: number
  stable: number
}

const startsWith = (request: readonly string[], before: readonly string[]): boolean =>
  before.every((message, at) => request[at] === message)

/** The active view; empty without one, and before the first message is recorded. */
async function viewOf(ledger: Ledger, conversationId: string): Promise<string> {
  const { conversations } = await ledger.list()
  if (!conversations.some((each) => each.conversationId === conversationId)) return ''
  const { messages, viewAt, viewOffset = 0 } = await ledger.context(conversationId)
  return viewAt === undefined ? '' : contentText(messages[viewAt]?.content).slice(viewOffset)
}

/** Plays one conversation in one way, and adds the result to the tally. */
async function check(
  way: WayName,
  { ledger, conversationId, messages, modelMaxTokens }: Play,
  tally: Tally,
): Promise<string[]> {
  const where = `${way}, ${conversationId}, window ${String(modelMaxTokens)}`
  const found: string[] = []
  // A call whose arguments were not JSON is shown unchanged.
  const odd = new Set(
    messages.flatMap(({ tool_calls: calls }) => (calls ?? []).flatMap((call) => call.function?.arguments ?? [])),
  )
  let before: { readonly request: readonly string[]; readonly view: string } | undefined
  try {
    for await (const sent of WAYS[way]({ ledger, conversationId, messages, modelMaxTokens })) {
      tally.contexts += 1
      const problems = problemsOfEveryApi(sent, odd)
      if (problems.length > 0) tally.violations += 1
      found.push(...problems.slice(0, 1).map((problem) => `${where}: ${problem}`))
      const view = await viewOf(ledger, conversationId)
      const request = sent.map((message) => JSON.stringify(message))
      if (before !== undefined && before.view === view) {
        tally.pairs += 1
        if (startsWith(request, before.request)) tally.stable += 1
      }
      before = { request, view }
    }
  } catch (error) {
    // Leading messages that do not fit by themselves have a named error, and no context.
    if (error instanceof LedgerError && error.kind === 'LeadingTooLarge') return found
    found.push(`${where}: ${String(error)}`)
    tally.violations += 1
  }
  return found
}

const percent = ({ stable, pairs }: Tally): string => (pairs === 0 ? '-' : `${((100 * stable) / pairs).toFixed(2)} %`)

async function run(folder: string, most: number, ways: readonly WayName[]): Promise<boolean> {
  let isClean = true
  for (const way of ways) {
    for (const window of WINDOWS) {
      const tally: Tally = { contexts: 0, violations: 0, pairs: 0, stable: 0 }
      const found: string[] = []
      const ledger = await openLedger({
        store: 'memory',
        policy: { modelMaxTokens: window },
        onProblem: () => {},
      })
      for (const { id, messages } of conversationsOf(folder)) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger parses each message
        const list = messages.slice(0, most) as unknown as readonly MessageInput[]
        const play = { ledger, conversationId: id, messages: list, modelMaxTokens: window }
        found.push(...(await check(way, play, tally)))
      }
      await ledger.close()
      console.log(
        `${way} at ${String(window)} tokens: ${String(tally.contexts)} contexts, ${String(tally.violations)} violations, ${percent(tally)} of ${String(tally.pairs)} with a stable prefix`,
      )
      for (const sentence of found.slice(0, 5)) console.log(`  ${sentence}`)
      isClean &&= found.length === 0
    }
  }
  return isClean
}

const [most = '', ...names] = process.argv.slice(2)
if (dataFolder === undefined) console.log(NO_DATA)
else {
  const ways = names.length === 0 ? WAY_NAMES : WAY_NAMES.filter((way) => names.includes(way))
  const isClean = await run(dataFolder, most === '' ? Infinity : Number(most), ways)
  process.exitCode = isClean ? 0 : 1
}
