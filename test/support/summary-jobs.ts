/** Messages and jobs for tests of summarizers. A field that the test omits has a plain default. */
import type { MessageToSummarize, SummaryJob, SummaryToFold } from '../../src/ports/summarizer.js'

type ChunkJob = Extract<SummaryJob, { kind: 'chunk' }>
type ResummarizeJob = Extract<SummaryJob, { kind: 'resummarize' }>

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 5, 9, minute)).toISOString()

export const sourceMessage = (
  role: MessageToSummarize['role'],
  content: MessageToSummarize['content'],
  some: Partial<MessageToSummarize> = {},
): MessageToSummarize => ({
  messageId: 'm1',
  revision: 1,
  role,
  content,
  createdAt: at(0),
  ...some,
})

/** A call of a tool and its result. */
export const calledTool = (
  id: string,
  name: string,
  args: unknown,
  result: string,
  some: Partial<MessageToSummarize> = {},
): readonly MessageToSummarize[] => [
  sourceMessage('assistant', null, {
    toolCalls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
  }),
  sourceMessage('tool', result, { toolCallId: id, ...some }),
]

/** A short session: a wish, a constraint, a call that fails, a call that works, a decision. */
export const session: readonly MessageToSummarize[] = [
  sourceMessage(
    'user',
    'Please move the billing service to Postgres 16. Never touch the table audit_log, the auditors read it.',
    { messageId: 'm1' },
  ),
  sourceMessage('assistant', 'I will look at src/billing/store.ts first.', { messageId: 'm2' }),
  ...calledTool('c1', 'run_tests', { path: 'src/billing' }, 'Error: connect ECONNREFUSED 127.0.0.1:5432\n  at Socket', {
    attributes: { isError: true },
  }),
  sourceMessage(
    'assistant',
    'The tests failed because no server was running. We decided to use PGlite in tests instead of a server.',
    { messageId: 'm5' },
  ),
  ...calledTool('c2', 'write_file', { path: 'src/billing/store.ts', content: 'export const store = 1' }, 'ok'),
  sourceMessage(
    'assistant',
    'Done: src/billing/store.ts now uses PGlite, all 42 tests pass. Next, the migration of invoices is still pending.',
    { messageId: 'm8' },
  ),
].map((message, index) => ({
  ...message,
  messageId: `m${String(index + 1)}`,
  revision: index + 1,
  createdAt: at(index),
}))

export const chunkJob = (some: Partial<ChunkJob> = {}): ChunkJob => ({
  kind: 'chunk',
  maxSummaryTokens: 256,
  temperature: 0,
  persona: '',
  messages: session,
  existingSummary: undefined,
  ...some,
})

export const summaryOf = (text: string, some: Partial<SummaryToFold> = {}): SummaryToFold => ({
  text,
  startTime: at(0),
  endTime: at(30),
  messageCount: 20,
  depth: 0,
  ...some,
})

export const resummarizeJob = (some: Partial<ResummarizeJob> = {}): ResummarizeJob => ({
  kind: 'resummarize',
  maxSummaryTokens: 256,
  temperature: 0,
  persona: '',
  summaries: [
    summaryOf('The user wants the billing service on Postgres 16 and forbids changes to audit_log.'),
    summaryOf('Tests failed without a server; it was decided to use PGlite in tests.', {
      startTime: at(31),
      endTime: at(60),
    }),
  ],
  ...some,
})
