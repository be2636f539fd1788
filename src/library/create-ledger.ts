/**
 * Puts a ledger together of its parts: each capability has a file of its own, which gives its part of the interface. It
 * knows no adapter.
 */
import { createArchiveIndex } from '../../projections/read-models/archive-index/queries.js'
import type { Command } from '../domain/decide/index.js'
import { createConversations } from '../application/recording/handle-command.js'
import { createRegisterPrompt } from '../application/recording/register-prompt.js'
import { createAppending } from './appending.js'
import { createAuditing } from './auditing.js'
import { createChats } from './chat.js'
import { createCompacting } from './compacting.js'
import { createCompressing } from './compressing.js'
import { createContexts } from './contexts.js'
import { createEditions } from './editions.js'
import { createErasure } from './erasure.js'
import { createEvaluations } from './evaluation.js'
import { createFreshness } from './freshness.js'
import { createGate } from './gate.js'
import { createHandoff } from './handoff.js'
import { createHistory } from './history.js'
import type { Ledger } from './ledger.js'
import { createListing } from './listing.js'
import { createLookup } from './lookup.js'
import type { LedgerParts } from './parts.js'
import { createObserving } from './observing.js'
import { createProjections, fillerOf, runnerOf } from './projections.js'
import { createPrompts } from './prompts.js'
import { createProvenance } from './provenance.js'
import { createProofs } from './proofs.js'
import { createRetention } from './retention.js'
import { createRules } from './rules.js'
import { createSecrets } from './secrets.js'
import { createSearching } from './searching.js'
import { createTotals } from './totals.js'
import { createTools } from './tools.js'
import { createReceiving } from './receiving.js'
import { createTranscripts } from './transcripts.js'
import { createWhatIfCalls } from './what-if.js'

/** The first command of a conversation that has no policy of its own. */
const configuring =
  ({ policy, summarizer, estimator }: LedgerParts) =>
  (): Extract<Command, { type: 'Configure' }> => ({
    type: 'Configure',
    settings: policy,
    scope: undefined,
    summarizerWindowTokens: summarizer.windowTokens,
    estimator,
  })

/** Builds the ledger. Nothing runs until it is used. */
export function createLedger(parts: LedgerParts): Ledger {
  const { log, db, clock, summarizer, embedding, onProblem } = parts
  const conversations = createConversations({ log, clock, alone: parts.alone })
  const runner = runnerOf(parts)
  const filler = fillerOf(parts)
  const gate = createGate(parts)
  const freshness = createFreshness({ ...parts, runner, gate })
  const lookup = createLookup({ log, conversations, gate })
  /** Dependencies of all capabilities. */
  const common = {
    ...parts,
    conversations,
    runner,
    filler,
    gate,
    freshness,
    lookup,
    provenanceOf: createProvenance(parts),
    registerPrompt: createRegisterPrompt(log, clock),
    searchPorts: { index: createArchiveIndex(db), ...(embedding === undefined ? {} : { embedding }) },
    configure: configuring(parts),
  }
  const compacting = createCompacting(common)
  const searching = createSearching(common)

  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    gate.close()
    closing ??= (async () => {
      await compacting.stop()
      await filler?.stop().catch(onProblem)
      await runner.stop()
      await parts.close()
    })()
    await closing
  }

  // A reader through another process runs no projections.
  parts.onReader(freshness.follow)

  const { append, amend, pin, unpin } = createAppending({
    ...common,
    summarizerWindowTokens: summarizer.windowTokens,
    wakeWhereDue: compacting.wakeWhereDue,
  })
  const contexts = createContexts(common)
  const tools = createTools({ ...common, find: searching.find, compact: compacting.calls.compact })

  const history = createHistory(common)
  const { compact, undo, waitForCompaction } = compacting.calls
  const erasure = createErasure(common)
  const transcripts = createTranscripts({ ...common, summarizerWindowTokens: summarizer.windowTokens })

  return {
    conversation: createChats({ append, context: contexts.context, pin, unpin, tools }),
    append,
    amend,
    ...contexts,
    compact,
    ...createCompressing({ ...common, compacting }),
    ...searching.calls,
    ...createListing(common),
    totals: createTotals(common),
    ...history.calls,
    rules: createRules(common),
    transcripts: {
      ...transcripts,
      ...createReceiving({ ...common, summarizerWindowTokens: summarizer.windowTokens }),
      ...createHandoff({ ...common, summarizerWindowTokens: summarizer.windowTokens, erasure }),
      ...createObserving({ ...common, summarizerWindowTokens: summarizer.windowTokens }),
    },
    // Requests of editions are counted one by one: their summarizer does not try again by itself.
    editions: {
      ...createEditions({ ...common, summarizer: parts.editionSummarizer }),
      ...createEvaluations(common),
      ...createWhatIfCalls(common),
      undo,
    },
    admin: {
      ...createAuditing(common),
      ...history.admin,
      waitForCompaction,
      prompts: createPrompts(common),
      projections: createProjections(common),
      secrets: createSecrets(common),
      proofs: createProofs(common),
      erasure,
      retention: createRetention(common),
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
