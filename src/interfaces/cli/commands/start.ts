/**
 * `start`: the first look at a machine. It imports the newest sessions of coding agents, and shows what their compactions
 * lost. Every step is a command of its own, which the end of the output names.
 */
import { isService } from '../../../library/addresses.js'
import type { ConversationSummary, ForgottenCycle, Ledger } from '../../../library/ledger.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { brief, colours, count, line, many, note, noteColours, printable, showTable } from '../output.js'
import type { Discovered } from '../import/discover.js'
import type { PlannedFile } from '../import/import-plan.js'
import { withLedger } from '../session.js'
import { shortIds } from '../short-ids.js'
import { TITLE_CHARACTERS } from '../titles.js'

const TRANSCRIPTS = 20
/** More than that takes minutes to read. The newest one is imported whatever its size is. */
const MOST_BYTES = 100_000_000
const LISTED_SESSIONS = 5

export const start: CliCommand = {
  words: 'start',
  describe: 'Begin here: import the newest sessions of coding agents on this machine, and show what compactions lost',
  uses: ['open', 'record', 'summarize', 'search'],
  policy: true,
  options: {
    yes: toggle('Import without asking'),
    transcripts: text(`The most transcripts to import, the newest first [default: ${String(TRANSCRIPTS)}]`),
    from: text('Only sessions of this program: claude-code, codex, pi …'),
  },
  examples: [
    ['$0 start', 'asks before it imports'],
    ['$0 start --yes --from claude-code --transcripts 100', 'more of them, of one program'],
  ],
  async run(args) {
    if (args.json) throw new LedgerError('Usage', 'start prints text only: use import, list and forgotten with --json')
    const limit = args.atLeastOne('transcripts') ?? TRANSCRIPTS
    await requireOwnLedger(args)
    const { checkProgram, discover, showDiscovered } = await import('../import/discover.js')
    checkProgram(args.text('from'))
    const found = await discover(args.text('from'))
    if (found.length === 0) {
      await showDiscovered(found, false)
      return
    }
    const { chosen, all } = newest(found, limit)
    await line(
      `found ${many(all, 'transcript')} on this machine: ${found.map(({ title, files }) => `${title} ${count(files.length)}`).join(', ')}`,
    )
    if (!(await isWanted(args, chosen.length, all))) return
    const { importFound } = await import('../import/import-files.js')
    await importFound(args.flags, chosen)
    const { transcripts: _transcripts, yes: _yes, from: _from, ...flags } = args.flags
    await withLedger(flags, { reads: true }, async ({ ledger }) => {
      await showLosses(ledger, all - chosen.length)
    })
  },
}

/** Throws if the sessions would go to another machine. */
async function requireOwnLedger(args: CommandArgs): Promise<void> {
  const { loadConfig } = await import('../config/load-config.js')
  const { store } = await loadConfig({ flags: args.flags, env: process.env, cwd: process.cwd() }, { writes: false })
  if (isService(store))
    throw new LedgerError(
      'Usage',
      `start imports into a ledger of this machine, and ${printable(store)} is a service: use import with --project`,
    )
}

/** The newest transcripts, as far as the limits allow. */
function newest(
  found: readonly Discovered[],
  limit: number,
): { readonly chosen: readonly PlannedFile[]; readonly all: number } {
  const files = found.flatMap((each) => each.files).toSorted((a, b) => b.modifiedAtMs - a.modifiedAtMs)
  let left = MOST_BYTES
  const chosen: PlannedFile[] = []
  for (const file of files) {
    if (chosen.length === limit) break
    if (chosen.length > 0 && file.bytes > left) continue
    left -= file.bytes
    chosen.push(file)
  }
  return { chosen, all: files.length }
}

async function isWanted(args: CommandArgs, chosen: number, all: number): Promise<boolean> {
  const { confirmed } = await import('../confirm.js')
  const which = chosen === all ? many(chosen, 'transcript') : `the newest ${count(chosen)}`
  if (args.is('yes') || (await confirmed(`Import ${which} into the ledger? The files are only read.`))) return true
  note(noteColours.dim(`nothing was imported; \`context-ledger start --yes\` imports ${which}`))
  return false
}

/** Shows the sessions that lost most, and the worst compaction of the first. */
async function showLosses(ledger: Ledger, left: number): Promise<void> {
  const { withCatchUpProgress } = await import('../catching-up.js')
  const { conversations } = await withCatchUpProgress(ledger.admin.projections, () =>
    ledger.list({ sort: 'lost', countLost: true }),
  )
  // Losses that were not counted before are counted while the list is read.
  const compacted = conversations
    .filter(({ compactions }) => compactions > 0)
    .toSorted((a, b) => (b.lost ?? 0) - (a.lost ?? 0))
  const ids = shortIds(conversations.map(({ conversationId }) => conversationId))
  const idOf = ({ conversationId }: ConversationSummary): string => printable(ids.get(conversationId) ?? conversationId)
  const [first] = compacted
  await line('')
  if (first === undefined) await line('No session here was compacted, so no agent has forgotten anything yet.')
  else {
    await line(`${colours.bold('What compactions lost')} (${many(compacted.length, 'session')} with compactions)`)
    await showTable(
      ['session', 'compactions', 'losses that matter', 'conversation'],
      compacted
        .slice(0, LISTED_SESSIONS)
        .map((row) => [
          brief(row.title ?? '(no request)', TITLE_CHARACTERS),
          count(row.compactions),
          row.lost === undefined ? '?' : count(row.lost),
          idOf(row),
        ]),
      new Set([1, 2]),
    )
    await showWorst(ledger, first)
  }
  const example = first ?? conversations[0]
  if (example !== undefined) await showNext(idOf(example), first !== undefined, left)
}

const lossesOf = ({ report: { foremost } }: ForgottenCycle): number => foremost.losses.length + foremost.more

/** Prints the compaction of a session with the most losses. */
async function showWorst(ledger: Ledger, { conversationId, title }: ConversationSummary): Promise<void> {
  let worst: ForgottenCycle | undefined
  await ledger.forgotten(conversationId, {
    onCycle: (each) => {
      if (worst === undefined || lossesOf(each) > lossesOf(worst)) worst = each
    },
  })
  if (worst === undefined) return
  const { cycleLines } = await import('../reports/forgotten.js')
  await line(`\n${colours.bold(brief(title ?? conversationId, TITLE_CHARACTERS))}`)
  for (const row of cycleLines(worst)) await line(row)
}

async function showNext(id: string, isCompacted: boolean, left: number): Promise<void> {
  const rows: readonly (readonly [string, string])[] = [
    ...(isCompacted
      ? ([
          [`forgotten ${id}`, 'all compactions of this session'],
          [`recall ${id}`, 'a note for the agent: what its context has lost'],
        ] as const)
      : []),
    ['rules check --all --agent-rules', 'which of your rules agents broke'],
    ['install', 'agents get such a note after each compaction'],
    ['page', 'the ledger in a browser'],
    ...(left === 0 ? [] : ([['import --discover --yes', `the other ${many(left, 'transcript')}`]] as const)),
  ]
  await line(colours.bold('Next'))
  const width = Math.max(...rows.map(([words]) => words.length))
  for (const [words, what] of rows) await line(`  context-ledger ${words.padEnd(width)}  ${colours.dim(what)}`)
}
