/** The handlers of all routes. */
import type { FillProgress, RebuildProgress, ReplayProgress, VerifyProgress } from '../../library/ledger.js'
import type { FieldsOf, Immutable } from '../../schema/answer.js'
import type { AnswerOf, JobName, ProgressOf, ResultOf, RouteName } from '../../schema/index.js'
import { carriedHandlers } from './carried-calls.js'
import { agentHandlers } from './routes/agent.js'
import { conversationHandlers } from './routes/conversations.js'
import { editionHandlers } from './routes/editions.js'
import { erasureHandlers } from './routes/erasure.js'
import { eventHandlers } from './routes/events.js'
import { historyHandlers } from './routes/history.js'
import { messageHandlers } from './routes/messages.js'
import { operatingHandlers } from './routes/operating.js'
import { proofHandlers } from './routes/proofs.js'
import { retentionHandlers } from './routes/retention.js'
import { ruleHandlers } from './routes/rules.js'
import { transcriptHandlers } from './routes/transcripts.js'
import type { Handlers } from './service.js'

const all = {
  ...carriedHandlers,
  ...conversationHandlers,
  ...messageHandlers,
  ...transcriptHandlers,
  ...agentHandlers,
  ...historyHandlers,
  ...ruleHandlers,
  ...editionHandlers,
  ...proofHandlers,
  ...erasureHandlers,
  ...retentionHandlers,
  ...operatingHandlers,
  ...eventHandlers,
}

/** What a handler answers; for a job, its result. */
type AnsweredBy<Handler extends (...args: never[]) => Promise<object>> = ContentOf<Awaited<ReturnType<Handler>>>
type ContentOf<Answer extends object> = 'resultType' extends keyof Answer
  ? Exclude<Answer['resultType'], undefined>
  : 'body' extends keyof Answer
    ? Exclude<Answer['body'], undefined>
    : undefined

/** The answers of routes, as their schemas state them. The data of an event is stated by its type instead. */
type Stated = {
  readonly [Name in Exclude<RouteName, 'getLog' | 'getRetentionLog'>]: FieldsOf<
    Immutable<Name extends JobName ? ResultOf<Name> : AnswerOf<Name>>
  >
}

/** The answers of the handlers. */
type Answers = { readonly [Name in keyof Stated]: FieldsOf<AnsweredBy<(typeof all)[Name]>> }

/** Progress that the library reports. */
interface Progress {
  readonly replay: FieldsOf<ReplayProgress>
  readonly verify: FieldsOf<VerifyProgress>
  readonly verifyAll: FieldsOf<VerifyProgress>
  readonly rebuildProjections: FieldsOf<RebuildProgress>
  readonly fillVectors: FieldsOf<FillProgress>
}

/** The handlers, if answers and progress have the fields of the schemas and no others. Otherwise the compiler names the field. */
type Checked<
  _Answers extends Stated,
  _Progress extends { readonly [Name in keyof Progress]: FieldsOf<Immutable<ProgressOf<Name>>> },
> = Handlers

/** What answers each route. */
export const handlers: Checked<Answers, Progress> = all
