/** The commands: their words, their flags, and the file that runs each, which is loaded when it is called. */
import type { Options, PositionalOptions } from 'yargs'
import { VIEWS } from '../../domain/values/view-names.js'
import type { WaitOptions } from '../../library/ledger.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'

export interface Command {
  /** As yargs has it: name, <demanded>, [optional], [several..]. */
  readonly words: string
  readonly describe: string
  readonly positionals?: Readonly<Record<string, PositionalOptions>>
  readonly options?: Readonly<Record<string, Options>>
  readonly examples?: readonly (readonly [string, string])[]
  /** Has the policy's flags: what it writes is recorded under them. */
  readonly policy?: boolean
  /**
   * Only shows: it ends as well where nobody reads on (`| head`). Any other one goes on to its end, and its status says
   * what came of it.
   */
  readonly reads?: true
  readonly run: (given: Given) => Promise<void>
}

const conversation = { type: 'string', demandOption: true, describe: 'Id of the conversation' } as const
const message = { type: 'string', demandOption: true, describe: 'Id of the message' } as const

const several = { type: 'string', array: true, describe: 'Ids of conversations' } as const
const edition = { type: 'string', demandOption: true, describe: 'Id of the edition, or its beginning' } as const

/** A flag with a text. */
const text = (describe: string, choices?: readonly string[]): Options => ({
  type: 'string',
  requiresArg: true,
  describe,
  ...(choices === undefined ? {} : { choices }),
})

const bounds: Readonly<Record<string, Options>> = {
  'max-tokens': text('Tokens that the edition may take in all, earlier runs included'),
  'max-cost': text('What it may cost in all, by the price of its model (--prices)'),
}

const yes: Options = { type: 'boolean', default: false, describe: 'Begin without a question' }

const waiting: Readonly<Record<string, Options>> = {
  'wait-for': text('Position, as `append --json` gives it, that has to be among what is read'),
  'wait-timeout': text('Seconds to wait for it [default: 5]'),
}

/** Without what was not given: the library takes an option, or none. */
const givenOnly = <T extends object>(options: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  // What is left out is undefined, and nothing else is.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }

function waitOf(given: Given): WaitOptions {
  const position = given.whole('wait-for')
  const seconds = given.whole('wait-timeout')
  return {
    ...(position === undefined ? {} : { waitFor: BigInt(position) }),
    ...(seconds === undefined ? {} : { timeout: seconds * 1_000 }),
  }
}

const FORMATS = ['text', 'json', 'openai'] as const
const KINDS = ['all', 'messages', 'batches'] as const
const SUMMARIES = ['recorded', 'extractive'] as const
const ORDERS = ['updated', 'messages', 'tokens', 'id'] as const
const ROLES = ['user', 'assistant', 'system', 'developer', 'tool'] as const

export const commands: readonly Command[] = [
  {
    words: 'import [files..]',
    describe: 'Record conversations from files, as if they happened now',
    policy: true,
    positionals: {
      files: { type: 'string', array: true, describe: 'JSON Lines, chat arrays (.json), or - for standard input' },
    },
    options: {
      conversation: text('Id of the conversation, over the file’s header'),
      scope: text('Tenant or owner of new conversations'),
    },
    examples: [
      ['$0 import chat.jsonl', 'its header names the conversation, else its name'],
      ['my-agent --log | $0 import --conversation run-7', 'one message per line'],
    ],
    async run(given) {
      const { runImport } = await import('./import.js')
      await runImport(given.flags, {
        files: given.words('files'),
        conversation: given.text('conversation'),
        scope: given.text('scope'),
        json: given.json,
      })
    },
  },
  {
    words: 'append <conversation>',
    describe: 'Record one message',
    policy: true,
    positionals: { conversation },
    options: {
      text: text('Its text [default: standard input]'),
      role: text('Who says it [default: user]', ROLES),
      name: text('Name of who says it'),
      id: text('Id of the message; the same id again records nothing'),
      'tool-call-id': text('The call that a tool’s message answers'),
      message: text('The whole message as JSON, or - for standard input'),
      pin: { type: 'boolean', default: false, describe: 'Keep it word for word, whatever is compacted' },
      scope: text('Tenant or owner of a new conversation'),
    },
    async run(given) {
      const { runAppend } = await import('./append.js')
      await runAppend(given.flags, {
        conversationId: given.word('conversation'),
        message: given.text('message'),
        text: given.text('text'),
        role: given.text('role'),
        name: given.text('name'),
        id: given.text('id'),
        toolCallId: given.text('tool-call-id'),
        scope: given.text('scope'),
        pin: given.is('pin'),
        json: given.json,
      })
    },
  },
  {
    words: 'context <conversation>',
    describe: 'Show what the model gets, or got',
    reads: true,
    positionals: { conversation },
    options: {
      at: text(
        'As it stood at this revision, time (2026-03-01T12:30:00Z) or message (its id; message:ID for one that looks like the others) [default: now]',
      ),
      view: text('What was compacted through this view [default: the one in force]', VIEWS),
      live: { type: 'boolean', default: false, describe: 'The live messages instead, whole as they were recorded' },
      format: text('For people, for scripts, or the messages alone [default: text]', FORMATS),
      ...waiting,
    },
    examples: [
      ['$0 context run-7 --at 2026-03-01T12:30:00Z', 'what the model would have got then'],
      ['$0 context run-7 --at 120 --view session-summary', 'the same facts through the other view'],
    ],
    async run(given) {
      const { runContext } = await import('./context.js')
      const format = given.oneOf('format', FORMATS)
      await runContext(given.flags, {
        conversationId: given.word('conversation'),
        at: given.text('at'),
        view: VIEWS.find((name) => name === given.text('view')),
        live: given.is('live'),
        format: format === 'text' && given.json ? 'json' : format,
        wait: waitOf(given),
      })
    },
  },
  {
    words: 'diff <conversation>',
    describe: 'Show what changed between two moments, or across a cycle',
    reads: true,
    positionals: { conversation },
    options: {
      from: text('Revision, time (2026-03-01T12:30:00Z) or message that it starts at'),
      to: text('Revision, time or message that it ends at [default: now]'),
      cycle: text('From just before to just after this cycle, instead'),
      ...waiting,
    },
    examples: [['$0 diff run-7 --cycle 3', 'what the third cycle took out and put in']],
    async run(given) {
      const { runDiff } = await import('./diff.js')
      await runDiff(given.flags, {
        conversationId: given.word('conversation'),
        from: given.text('from'),
        to: given.text('to'),
        cycle: given.whole('cycle'),
        wait: waitOf(given),
        json: given.json,
      })
    },
  },
  {
    words: 'compact <conversation>',
    describe: 'Compact now what is at its limit',
    policy: true,
    positionals: { conversation },
    options: { force: { type: 'boolean', default: false, describe: 'Fold what may be folded, though there is room' } },
    async run(given) {
      const { runCompact } = await import('./compact.js')
      await runCompact(given.flags, given.word('conversation'), given.is('force'), given.json)
    },
  },
  {
    words: 'undo <conversation>',
    describe: 'Put the messages of the last cycles back into the window',
    positionals: { conversation },
    options: { cycle: text('The first cycle to undo; those after it are undone with it') },
    async run(given) {
      const { runUndo } = await import('./undo.js')
      await runUndo(given.flags, given.word('conversation'), given.whole('cycle'), given.json)
    },
  },
  {
    words: 'log <conversation>',
    describe: 'Show every fact: what happened, when, and what failed',
    reads: true,
    positionals: { conversation },
    options: { from: text('First revision to show'), limit: text('Facts at most') },
    async run(given) {
      const { runLog } = await import('./log.js')
      const from = given.whole('from')
      await runLog(given.flags, {
        conversationId: given.word('conversation'),
        from: from === undefined ? undefined : BigInt(from),
        limit: given.whole('limit'),
        json: given.json,
      })
    },
  },
  {
    words: 'search [query..]',
    describe: 'Search messages and summaries',
    reads: true,
    positionals: { query: { type: 'string', array: true, describe: 'What to look for' } },
    options: {
      conversation: text('Stay in this conversation'),
      scope: text('Search the conversations of this scope [default: those without one]'),
      limit: text('Hits at most [default: 10]'),
      include: text('What to search [default: all]', KINDS),
      queries: text('JSON Lines of { query, conversationId?, limit? }, each answered by one line { hits }'),
      ...waiting,
    },
    async run(given) {
      const { runSearch } = await import('./search.js')
      const query = given.words('query')
      await runSearch(given.flags, {
        query: query.length === 0 ? undefined : query.join(' '),
        queries: given.text('queries'),
        conversation: given.text('conversation'),
        scope: given.text('scope'),
        limit: given.whole('limit'),
        include: given.oneOf('include', KINDS),
        wait: waitOf(given),
        json: given.json,
      })
    },
  },
  {
    words: 'explain <conversation>',
    describe: 'Show where a summary or a line comes from, down to the messages',
    reads: true,
    positionals: { conversation },
    options: {
      batch: text(
        'The batch to explain, or the beginning of its id, as `search` and `explain` name it [default: all that is compacted, in short]',
      ),
      line: text('A line that the model saw, or part of one'),
      open: { type: 'boolean', default: false, describe: 'Show the original messages whole' },
    },
    examples: [['$0 explain run-7 --line "the port is 5433"', 'which summary says so, from which messages']],
    async run(given) {
      const { runExplain } = await import('./explain.js')
      await runExplain(given.flags, {
        conversationId: given.word('conversation'),
        batch: given.text('batch'),
        line: given.text('line'),
        open: given.is('open'),
        json: given.json,
      })
    },
  },
  {
    words: 'stats [conversation]',
    describe: 'Count tokens bought and saved, cost, failures and time',
    reads: true,
    positionals: { conversation: { type: 'string', describe: 'Id of the conversation [default: all]' } },
    options: {
      limit: text(
        'Conversations at most that are shown below the total: those that took the most tokens [default: 20; with --json all]',
      ),
    },
    async run(given) {
      const { runStats } = await import('./stats.js')
      await runStats(given.flags, given.text('conversation'), given.whole('limit'), given.json)
    },
  },
  {
    words: 'list',
    describe: 'List the conversations',
    reads: true,
    options: {
      match: text('Those with this in their id'),
      scope: text('Those of this scope'),
      since: text('Those that something was recorded in last at this time (2026-03-01T12:30:00Z) or later'),
      until: text('Those that something was recorded in last before this time'),
      sort: text(
        'The one first that something happened in last, that has the most messages or live tokens, or by id [default: updated]',
        ORDERS,
      ),
      limit: text('Conversations at most [default: all]'),
      ...waiting,
    },
    async run(given) {
      const { runList } = await import('./list.js')
      const options = {
        match: given.text('match'),
        scope: given.text('scope'),
        since: given.text('since'),
        until: given.text('until'),
        limit: given.atLeastOne('limit'),
      }
      await runList(
        given.flags,
        { ...givenOnly(options), sort: given.oneOf('sort', ORDERS), ...waitOf(given) },
        given.json,
      )
    },
  },
  {
    words: 'verify [conversation]',
    describe: 'Prove that nothing was lost: laws, order, hashes, origins, rows',
    positionals: {
      conversation: { type: 'string', describe: 'Id of the conversation [default: all, and the prompts]' },
    },
    options: {
      export: text('Leave a signed manifest of the ledger in this new file'),
      key: text('PEM file with the Ed25519 key that signs it [default: CONTEXT_LEDGER_SIGNING_KEY]'),
      against: text('Hold the ledger against a manifest that was exported before'),
      'public-key': text('Who has to have signed that: a fingerprint, or a PEM file'),
      'new-key': text('Make a key that signs, in this new file, and do nothing else'),
    },
    examples: [
      [
        '$0 verify --export monday.manifest --key operator.pem',
        'a proof that whoever can write the database cannot make anew',
      ],
      ['$0 verify --against monday.manifest --public-key sha256:…', 'whether the ledger still holds what it held'],
    ],
    async run(given) {
      const [{ runVerify }, files] = await Promise.all([import('./verify.js'), import('../../library/compose.js')])
      await runVerify(
        given.flags,
        {
          conversation: given.text('conversation'),
          exportTo: given.text('export'),
          key: given.text('key'),
          against: given.text('against'),
          publicKey: given.text('public-key'),
          newKey: given.text('new-key'),
          json: given.json,
        },
        files,
      )
    },
  },
  {
    words: 'replay [conversations..]',
    describe: 'Compact the same history again, by another prompt, model or policy, into an edition beside it',
    policy: true,
    positionals: { conversations: several },
    options: {
      all: { type: 'boolean', default: false, describe: 'Every conversation' },
      'prompt-name': text('Name to record a prompt under that comes from a file [default: the file’s]'),
      concurrency: text('Conversations at once [default: 4]'),
      ...bounds,
      yes,
      'dry-run': {
        type: 'boolean',
        default: false,
        describe:
          'Record nothing, and call no model: only show what each --policy FILE, or the policy that the flags make, would come to',
      },
      summaries: text(
        'With --dry-run: as long as those that are recorded, or written by the strategy without a model [default: recorded]',
        SUMMARIES,
      ),
    },
    examples: [
      ['$0 replay --all --prompt new.txt', 'an estimate first, and a question'],
      ['$0 replay --all --prompt new.txt --yes --max-tokens 2000000', 'the same again goes on where it ended'],
      ['$0 replay --all --dry-run --policy small.json --policy large.json', 'cycles, calls and tokens under each'],
    ],
    async run(given) {
      if (given.is('dry-run')) {
        const { whatIfCommand } = await import('./what-if.js')
        await whatIfCommand(given)
        return
      }
      if (given.text('summaries') !== undefined)
        throw new InputError('Usage', '--summaries is for --dry-run: an edition has summaries of its own')
      if (given.several('policy').length > 1)
        throw new InputError(
          'Usage',
          '--policy is given more than once: an edition has one policy; --dry-run tries several',
        )
      const { runReplay } = await import('./replay.js')
      await runReplay(given.flags, {
        conversations: given.words('conversations'),
        all: given.is('all'),
        promptName: given.text('prompt-name'),
        concurrency: given.whole('concurrency'),
        maxTokens: given.whole('max-tokens'),
        maxCost: given.positive('max-cost'),
        yes: given.is('yes'),
        json: given.json,
      })
    },
  },
  {
    words: 'prompts [what..]',
    describe: 'List the prompts that were used, or `show NAME[@VERSION]` or a hash: its text',
    reads: true,
    positionals: { what: { type: 'string', array: true, describe: '`show` and the prompt [default: list them]' } },
    async run(given) {
      const { runPrompts } = await import('./prompts.js')
      await runPrompts(given.flags, given.words('what'), given.json)
    },
  },
  {
    words: 'migrate-log',
    describe: 'Copy a log between stores, to a file or from one, and prove the copy equal',
    options: {
      from: text('A folder, postgres://…, esdb://…, or a file'),
      to: text('The same; a name that ends in .gz is a file'),
      'from-database': text('Database of a log in KurrentDB that is copied'),
      'to-database': text('Database of the log in KurrentDB that it is copied to'),
      overwrite: { type: 'boolean', default: false, describe: 'Replace the file that is there' },
    },
    examples: [
      ['$0 migrate-log --from .context-ledger --to backup.clog.gz', 'a backup'],
      ['$0 migrate-log --from .context-ledger --to postgres://…', 'to a server; again, it brings what came since'],
    ],
    async run(given) {
      const [{ runMigrateLog }, places] = await Promise.all([
        import('./migrate-log.js'),
        import('../../library/compose.js'),
      ])
      await runMigrateLog(
        {
          from: given.text('from'),
          to: given.text('to'),
          fromDatabase: given.setting('from-database'),
          toDatabase: given.setting('to-database'),
          overwrite: given.is('overwrite'),
          json: given.json,
        },
        places,
      )
    },
  },
  {
    words: 'pin <conversation> <message>',
    describe: 'Keep a message word for word, whatever is compacted',
    positionals: { conversation, message },
    async run(given) {
      const { runPin } = await import('./pin.js')
      await runPin(given.flags, given.word('conversation'), given.word('message'), true, given.json)
    },
  },
  {
    words: 'unpin <conversation> <message>',
    describe: 'Let a pinned message be folded again',
    positionals: { conversation, message },
    async run(given) {
      const { runPin } = await import('./pin.js')
      await runPin(given.flags, given.word('conversation'), given.word('message'), false, given.json)
    },
  },
]

export interface CommandGroup {
  /** The word that its commands stand behind. */
  readonly word: string
  readonly describe: string
  readonly commands: readonly Command[]
}

const metrics: Readonly<Record<string, Options>> = {
  'metrics-port': text('Serve /metrics (Prometheus) and /health on this port'),
  'metrics-host': text('Address to serve them on [default: 127.0.0.1]'),
}

const projectionCommands: readonly Command[] = [
  {
    words: 'run',
    describe:
      'Keep the read models in a process of its own, on a server; of several, one works and the others stand by',
    options: {
      partitions: text('Workers that the conversations are spread over [default: as before; 1 at first]'),
      ...metrics,
    },
    async run(given) {
      const [{ runProjections }, { openProjections }] = await Promise.all([
        import('./run-projections.js'),
        import('../../library/compose.js'),
      ])
      await runProjections(
        given.flags,
        {
          partitions: given.whole('partitions'),
          metricsPort: given.whole('metrics-port'),
          metricsHost: given.text('metrics-host') ?? '127.0.0.1',
          json: given.json,
        },
        openProjections,
      )
    },
  },
  {
    words: 'status',
    describe: 'Show position, lag and version of each',
    reads: true,
    async run(given) {
      const { runStatus } = await import('./projections.js')
      await runStatus(given.flags, given.json)
    },
  },
  {
    words: 'rebuild [names..]',
    describe: 'Fill new tables beside those that are read, and swap them in',
    positionals: { names: { type: 'string', array: true, describe: 'Names of read models [default: all]' } },
    async run(given) {
      const { runRebuild } = await import('./projections.js')
      await runRebuild(given.flags, given.words('names'), given.json)
    },
  },
  {
    words: 'vectors',
    describe: 'Give every message that has none its vector, for the search by meaning',
    async run(given) {
      const { runVectors } = await import('./projections.js')
      await runVectors(given.flags, given.json)
    },
  },
]

const compactionCommands: readonly Command[] = [
  {
    words: 'run',
    describe: 'Compact ahead of need in a process of its own, on a server; several share the work',
    options: {
      concurrency: text('Conversations at once [default: 4]'),
      'tokens-per-minute': text('Tokens that all workers together may spend a minute'),
      'tokens-per-day': text('Tokens that they may spend a day (UTC)'),
      ...metrics,
    },
    async run(given) {
      const [{ runCompaction }, { openCompaction }] = await Promise.all([
        import('./run-compaction.js'),
        import('../../library/compose.js'),
      ])
      await runCompaction(
        given.flags,
        {
          concurrency: given.whole('concurrency'),
          tokensPerMinute: given.whole('tokens-per-minute'),
          tokensPerDay: given.whole('tokens-per-day'),
          metricsPort: given.whole('metrics-port'),
          metricsHost: given.text('metrics-host') ?? '127.0.0.1',
          json: given.json,
        },
        openCompaction,
      )
    },
  },
]

const ofEdition: Readonly<Record<string, Options>> = {
  all: { type: 'boolean', default: false, describe: 'All conversations that it is of' },
}

const editionCommands: readonly Command[] = [
  {
    words: 'compare <edition> [conversations..]',
    describe: 'Show what an edition keeps and loses beside what was in force',
    positionals: {
      edition,
      conversations: { type: 'string', array: true, describe: 'Ids of conversations [default: all that have it]' },
    },
    options: {
      against: text('Another edition to compare it with [default: what was in force]'),
      questions: text(
        'JSON Lines of { question, evidence: [message ids], answerable? }: which evidence gets out of reach',
      ),
    },
    async run(given) {
      const { runCompareEditions } = await import('./editions-compare.js')
      await runCompareEditions(given.flags, {
        editionId: given.word('edition'),
        conversationIds: given.words('conversations'),
        against: given.text('against'),
        questions: given.text('questions'),
        json: given.json,
      })
    },
  },
  {
    words: 'list',
    describe: 'List the editions: what made them, how far they are, where they are in force',
    reads: true,
    async run(given) {
      const { runEditionsList } = await import('./editions.js')
      await runEditionsList(given.flags, given.json)
    },
  },
  {
    words: 'show <edition>',
    describe: 'Show an edition, conversation by conversation',
    reads: true,
    positionals: { edition },
    async run(given) {
      const { runEditionsShow } = await import('./editions.js')
      await runEditionsShow(given.flags, given.word('edition'), given.json)
    },
  },
  {
    words: 'adopt <edition> [conversations..]',
    describe: 'Put an edition into force, caught up with what came since',
    policy: true,
    positionals: { edition, conversations: several },
    options: { ...ofEdition, ...bounds, yes, 'prompt-name': text('As it was given to `replay`') },
    async run(given) {
      const { runEditionsAdopt } = await import('./editions.js')
      await runEditionsAdopt(given.flags, {
        edition: given.word('edition'),
        conversations: given.words('conversations'),
        all: given.is('all'),
        promptName: given.text('prompt-name'),
        maxTokens: given.whole('max-tokens'),
        maxCost: given.positive('max-cost'),
        yes: given.is('yes'),
        json: given.json,
      })
    },
  },
  {
    words: 'revert <edition> [conversations..]',
    describe: 'Put back what an adopted edition had replaced',
    positionals: { edition, conversations: several },
    options: ofEdition,
    async run(given) {
      const { runEditionsRevert } = await import('./editions.js')
      await runEditionsRevert(given.flags, {
        edition: given.word('edition'),
        conversations: given.words('conversations'),
        all: given.is('all'),
        json: given.json,
      })
    },
  },
  {
    words: 'drop <edition> [conversations..]',
    describe: 'Give an edition up; what it recorded stays in the log',
    positionals: { edition, conversations: several },
    options: ofEdition,
    async run(given) {
      const { runEditionsDrop } = await import('./editions.js')
      await runEditionsDrop(given.flags, {
        edition: given.word('edition'),
        conversations: given.words('conversations'),
        all: given.is('all'),
        json: given.json,
      })
    },
  },
]

/** Commands of two words. */
export const groups: readonly CommandGroup[] = [
  {
    word: 'projections',
    describe: 'The read models: kept, how far they are, and anew from the log',
    commands: projectionCommands,
  },
  {
    word: 'editions',
    describe: 'The same history compacted again, beside what is in force',
    commands: editionCommands,
  },
  { word: 'compaction', describe: 'Compaction by workers', commands: compactionCommands },
]
