/** `context-ledger/ai-sdk`: conversations of the AI SDK (`ai`) in a ledger. */
export { ledgerMiddleware, type LedgerMiddlewareOptions } from './middleware.js'
