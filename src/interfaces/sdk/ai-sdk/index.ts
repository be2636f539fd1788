/** `context-ledger/ai-sdk`: conversations of the AI SDK (`ai`) in a ledger. */
export { ledgerMiddleware, type LedgerMiddlewareOptions } from './middleware.js'
export {
  ledgerSteps,
  type EndedStep,
  type LedgerSteps,
  type LedgerStepsOptions,
  type PreparedStep,
  type StepToPrepare,
} from './steps.js'
export { saveUIMessages } from './save-ui-messages.js'
export { loadUIMessages } from './ui-messages.js'
export type { RecordingOptions as KeptIn, ListRecordingOptions as ListKeptIn } from '../options.js'
