import { resolve } from 'node:path'
import { LedgerError } from '../../../lib/ledger-error.js'
import type { ConversationSummary, ListOptions } from '../../../library/ledger.js'
import { callFlags } from '../call-flags.js'
import { text, waiting, waitOf, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { brief, colours, count, line, many, note, noteColours, printable, showTable, noteLag } from '../output.js'
import { HOW_TO_FILL } from '../find-conversation.js'
import { titlesOf } from '../../../library/titles.js'
import { didYouMean, nameMeant } from '../../../domain/text/known-names.js'
import { toWire } from '../../../domain/values/revision.js'
import { idWithTitle, TITLE_CHARACTERS } from '../titles.js'
import { withLedger } from '../session.js'
import { shortIds } from '../short-ids.js'
import { columns } from '../terminal.js'
import { dayOfFlag, localTime } from '../time-words.js'

const call = callFlags(async () => (await import('../../../schema/calls/conversations.js')).list, {
  omitted: ['waitFor', 'timeout', 'prefix', 'after', 'countLost'],
  texts: {
    project: 'Part of the project folder, in any case; . for the current directory',
    since: 'Last message at or after this time (yesterday, monday, 3d, 2026-03-01, 2026-03-01T12:30:00Z)',
    until: 'Last message before this time',
    sort: 'Order [default: relevance with --grep, else updated: the last message]',
  },
})

/** The list options. */
async function optionsOf(args: CommandArgs): Promise<ListOptions> {
  const { project, ...options } = await call.read(args)
  const on = args.text('on')
  if (on !== undefined && (options.since !== undefined || options.until !== undefined))
    throw new LedgerError('Usage', '--on cannot be combined with --since or --until: it means one whole day')
  return {
    ...options,
    ...(project === undefined ? {} : { project: project.startsWith('.') ? resolve(project) : project }),
    ...(on === undefined ? {} : dayOfFlag('on', on, new Date())),
    ...waitOf(args),
  }
}

/** A suggestion for the name of a program that no transcript is imported from. */
async function programMeant(program: string | undefined): Promise<string> {
  if (program === undefined) return ''
  const { programs } = await import('../../../library/transcripts.js')
  const known = programs()
  return known.includes(program) ? '' : didYouMean(nameMeant(program, known))
}

/** The filters of a list in words. */
function filterWords({ scope, person, program, project, match, grep, since, until }: ListOptions): string[] {
  const words = (value: string | undefined, name: string): string[] =>
    value === undefined ? [] : [`${name} ${printable(value)}`]
  const quoted = (value: string | undefined, name: string): string[] =>
    value === undefined ? [] : [`with "${printable(value)}" in their ${name}`]
  return [
    ...words(scope, 'in scope'),
    ...words(person, 'of person'),
    ...words(program, 'of program'),
    ...words(project, 'in project'),
    ...quoted(match, 'id, title or project'),
    ...(grep === undefined ? [] : [`with all words of ${printable(grep)}`]),
    ...(since === undefined && until === undefined ? [] : ['in that time range']),
  ]
}

const HEAD = [
  'title',
  'project',
  'last message',
  'messages',
  'live tokens',
  'compactions',
  'lost',
  'conversation',
  'scope',
  'person',
] as const
type Column = (typeof HEAD)[number]
const columnsOf = (...names: readonly Column[]): number[] => names.map((name) => HEAD.indexOf(name))
const NUMBERS = new Set(columnsOf('messages', 'live tokens', 'compactions', 'lost'))
const NARROW = {
  optional: columnsOf('person', 'scope', 'live tokens', 'compactions', 'project', 'messages'),
  whole: new Set(columnsOf('conversation')),
  least: new Map(columnsOf('title').map((at) => [at, 28])),
}

/** The row of a conversation, for people: the beginning of the title, and the project without its path. */
const rowOf = (row: ConversationSummary, id: string): string[] => [
  brief(row.title ?? '(no request)', TITLE_CHARACTERS),
  printable(row.project?.split(/[\\/]/u).findLast((part) => part !== '') ?? ''),
  localTime(row.lastMessageAt ?? row.startedAt),
  count(row.messages),
  count(row.liveTokens),
  count(row.compactions),
  row.lost === undefined ? '?' : count(row.lost),
  printable(id),
  printable(row.scope ?? ''),
  printable(row.person ?? ''),
]

export const list: CliCommand = {
  words: 'list',
  describe: 'List the conversations',
  uses: ['open'],
  reads: true,
  call,
  options: {
    on: text('Last message on this day (yesterday, monday, "last tuesday", 2026-03-01)'),
    ...waiting,
  },
  examples: [
    ['$0 list --on tuesday --grep "date bug"', 'the session of Tuesday in which these words were said'],
    ['$0 list --project . --since "last week"', 'the sessions in this directory since the last week began'],
  ],
  async run(args) {
    const { limit, ...options } = await optionsOf(args)
    const { withCatchUpProgress } = await import('../catching-up.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      // Read one more than the limit, to know if there are more.
      const {
        conversations: found,
        unlisted = [],
        behind,
      } = await withCatchUpProgress(ledger.admin.projections, () =>
        ledger.list({ ...options, countLost: true, ...(limit === undefined ? {} : { limit: limit + 1 }) }),
      )
      const conversations = found.slice(0, limit)
      const more = found.length > conversations.length
      if (args.json) {
        await line(
          toWire({
            conversations,
            more,
            ...(unlisted.length === 0 ? {} : { unlisted }),
            ...(behind === undefined ? {} : { behind }),
          }),
        )
        return
      }
      noteLag(behind)
      const stoppedOnes = [...unlisted, ...conversations.filter(({ stopped }) => stopped !== undefined)]
      const titles = await titlesOf(
        ledger,
        stoppedOnes.map(({ conversationId }) => conversationId),
      )
      for (const { conversationId, reason } of unlisted)
        note(
          `${noteColours.yellow('not listed:')} ${idWithTitle(conversationId, titles, noteColours)} is stopped: ${printable(reason)}`,
        )
      if (conversations.length === 0) {
        const filters = filterWords(options)
        await line(
          filters.length === 0
            ? HOW_TO_FILL
            : `no conversations ${filters.join(', ')}${await programMeant(options.program)}`,
        )
        return
      }
      const ids =
        columns() === undefined ? undefined : shortIds(conversations.map(({ conversationId }) => conversationId))
      // Only a service has keys of persons.
      const columnCount = conversations.some(({ person }) => person !== undefined) ? HEAD.length : HEAD.length - 1
      await showTable(
        HEAD.slice(0, columnCount),
        conversations.map((row) =>
          rowOf(row, ids?.get(row.conversationId) ?? row.conversationId).slice(0, columnCount),
        ),
        NUMBERS,
        NARROW,
      )
      const uncounted = conversations.filter(({ lost }) => lost === undefined).length
      if (uncounted > 0)
        note(
          noteColours.dim(
            `lost is not counted yet in ${many(uncounted, 'conversation')} (?); \`forgotten --all\` counts it`,
          ),
        )
      for (const { conversationId, stopped } of conversations)
        if (stopped !== undefined)
          await line(colours.red(`${idWithTitle(conversationId, titles)} is stopped: ${printable(stopped)}`))
      await line(
        `${many(conversations.length, 'conversation')}${more ? '; there are more, raise --limit to list them' : ''}`,
      )
    })
  },
}
