/** The commands: their words, their flags, and the file that runs each, which is loaded when it is called. */
import type { Options, PositionalOptions } from 'yargs'
import type { Given } from './given.js'

export interface Command {
  /** As yargs has it: name, <demanded>, [optional], [several..]. */
  readonly words: string
  readonly describe: string
  readonly positionals?: Readonly<Record<string, PositionalOptions>>
  readonly options?: Readonly<Record<string, Options>>
  readonly examples?: readonly (readonly [string, string])[]
  /** Has the policy's flags: what it writes is recorded under them. */
  readonly policy?: boolean
  readonly run: (given: Given) => Promise<void>
}

const conversation = { type: 'string', demandOption: true, describe: 'Id of the conversation' } as const
const message = { type: 'string', demandOption: true, describe: 'Id of the message' } as const

/** A flag with a text. */
const text = (describe: string, choices?: readonly string[]): Options => ({ type: 'string', requiresArg: true, describe, ...(choices === undefined ? {} : { choices }) })

const FORMATS = ['text', 'json', 'openai'] as const
const KINDS = ['all', 'messages', 'batches'] as const
const ROLES = ['user', 'assistant', 'system', 'developer', 'tool'] as const

export const commands: readonly Command[] = [
  {
    words: 'import [files..]',
    describe: 'Record conversations from files, as if they happened now',
    policy: true,
    positionals: { files: { type: 'string', array: true, describe: 'JSON Lines, chat arrays (.json), or - for standard input' } },
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
      await runImport(given.flags, { files: given.words('files'), conversation: given.text('conversation'), scope: given.text('scope'), json: given.json })
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
    describe: 'Show what the model gets',
    positionals: { conversation },
    options: { format: text('For people, for scripts, or the messages alone [default: text]', FORMATS) },
    async run(given) {
      const { runContext } = await import('./context.js')
      const format = given.oneOf('format', FORMATS)
      await runContext(given.flags, given.word('conversation'), format === 'text' && given.json ? 'json' : format)
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
    words: 'log <conversation>',
    describe: 'Show every fact: what happened, when, and what failed',
    positionals: { conversation },
    options: { from: text('First revision to show'), limit: text('Facts at most') },
    async run(given) {
      const { runLog } = await import('./log.js')
      const from = given.whole('from')
      await runLog(given.flags, { conversationId: given.word('conversation'), from: from === undefined ? undefined : BigInt(from), limit: given.whole('limit'), json: given.json })
    },
  },
  {
    words: 'search [query..]',
    describe: 'Search messages and summaries',
    positionals: { query: { type: 'string', array: true, describe: 'What to look for' } },
    options: {
      conversation: text('Stay in this conversation'),
      scope: text('Search the conversations of this scope [default: those without one]'),
      limit: text('Hits at most [default: 10]'),
      include: text('What to search [default: all]', KINDS),
      queries: text('JSON Lines of { query, conversationId?, limit? }, each answered by one line { hits }'),
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
        json: given.json,
      })
    },
  },
  {
    words: 'list',
    describe: 'List the conversations',
    options: { scope: text('Those of this scope') },
    async run(given) {
      const { runList } = await import('./list.js')
      await runList(given.flags, given.text('scope'), given.json)
    },
  },
  {
    words: 'verify [conversation]',
    describe: 'Prove that nothing was lost: coverage, order, hashes, rows',
    positionals: { conversation: { type: 'string', describe: 'Id of the conversation [default: all]' } },
    async run(given) {
      const { runVerify } = await import('./verify.js')
      await runVerify(given.flags, given.text('conversation'), given.json)
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

/** The commands below `projections`. */
export const projectionCommands: readonly Command[] = [
  {
    words: 'status',
    describe: 'Show position, lag and version of each',
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
]
