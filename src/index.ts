/** What the package `context-ledger` exports. */
export { openLedger } from './library/open-ledger.js'
export { createCompactor, type Compactor, type CompactorOptions } from './library/compactor.js'
export type * from './library/ledger.js'
export type { FailureKind, Fault } from './lib/failure-kinds.js'
export { LedgerError } from './lib/ledger-error.js'
export type { Failure } from './library/problem.js'
export type {
  Event,
  EventData,
  EventType,
  Metadata,
  RecordedEvent,
  Sections,
  SummarizerRecord,
} from './domain/events/index.js'
export type { Policy, PolicySettings } from './domain/values/policy-settings.js'
export { registerModelWindow } from './ports/model-windows.js'
export type { Media, MediaKind } from './domain/values/estimator.js'
export { defaultEstimator, type Estimator } from './domain/values/tokens.js'
export { registerEstimator } from './application/recording/estimators.js'
export type { Clock } from './ports/clock.js'
export type {
  MessageToSummarize,
  PreparedSummary,
  Summarizer,
  SummarizerFailure,
  Summary,
  SummaryJob,
  SummaryToFold,
} from './ports/summarizer.js'
export type { SummarizerConfig } from './application/summarizers/index.js'
