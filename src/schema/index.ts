/** All routes of the service, by their names, and the types that derive from them. */
import type { z } from 'zod'
import * as agent from './agent.js'
import * as conversations from './conversations.js'
import * as editions from './editions.js'
import * as erasure from './erasure.js'
import * as events from './events.js'
import * as history from './history.js'
import * as jobs from './jobs.js'
import * as messages from './messages.js'
import * as operating from './operating.js'
import * as proofs from './proofs.js'
import * as retention from './retention.js'
import * as transcripts from './transcripts.js'

export const routes = {
  listConversations: conversations.listConversations,
  getTotals: conversations.getTotals,
  getConversation: conversations.getConversation,
  getContext: conversations.getContext,
  getLedger: conversations.getLedger,
  settle: conversations.settle,
  appendMessages: messages.appendMessages,
  amend: messages.amend,
  observe: messages.observe,
  pushTranscript: transcripts.pushTranscript,
  getMessages: messages.getMessages,
  compress: agent.compress,
  useTool: agent.useTool,
  pinMessage: messages.pinMessage,
  unpinMessage: messages.unpinMessage,
  search: messages.search,
  getLog: history.getLog,
  listCompactions: history.listCompactions,
  compact: history.compact,
  undo: history.undo,
  diff: history.diff,
  explain: history.explain,
  forgotten: history.forgotten,
  forgottenAll: history.forgottenAll,
  recall: history.recall,
  stats: history.stats,
  statsAll: history.statsAll,
  verify: history.verify,
  verifyAll: history.verifyAll,
  listCheckpoints: proofs.listCheckpoints,
  draftCheckpoint: proofs.draftCheckpoint,
  storeCheckpoint: proofs.storeCheckpoint,
  attachToCheckpoint: proofs.attachToCheckpoint,
  getConsistency: proofs.getConsistency,
  getInclusion: proofs.getInclusion,
  getEvidence: proofs.getEvidence,
  planErasure: erasure.planErasure,
  erase: erasure.erase,
  listErasures: erasure.listErasures,
  planErasureOfPerson: erasure.planErasureOfPerson,
  erasePerson: erasure.erasePerson,
  resumeErasures: erasure.resumeErasures,
  getRetention: retention.getRetention,
  getRetentionLog: retention.getRetentionLog,
  setRetentionRules: retention.setRetentionRules,
  placeRetentionHold: retention.placeRetentionHold,
  releaseRetentionHold: retention.releaseRetentionHold,
  runRetention: retention.runRetention,
  listEditions: editions.listEditions,
  getEdition: editions.getEdition,
  estimateReplay: editions.estimateReplay,
  replay: editions.replay,
  compareEdition: editions.compareEdition,
  adoptEdition: editions.adoptEdition,
  revertEdition: editions.revertEdition,
  dropEdition: editions.dropEdition,
  whatIf: editions.whatIf,
  listPrompts: editions.listPrompts,
  getPrompt: editions.getPrompt,
  getProjections: operating.getProjections,
  rebuildProjections: operating.rebuildProjections,
  catchUpProjections: operating.catchUpProjections,
  fillVectors: operating.fillVectors,
  listKeyUses: operating.listKeyUses,
  listJobs: jobs.listJobs,
  getJob: jobs.getJob,
  cancelJob: jobs.cancelJob,
  streamEvents: events.streamEvents,
  streamConversationEvents: events.streamConversationEvents,
}

/** The name of a route. */
export type RouteName = keyof typeof routes

/** The answer of a route. */
export type AnswerOf<Name extends RouteName> = z.output<NonNullable<(typeof routes)[Name]['answer']>>

/** A job of any route. */
export type Job = z.output<typeof jobs.job>

/** The routes that start a job. */
export type JobName = {
  [Name in RouteName]: Name extends 'getJob' | 'cancelJob' ? never : AnswerOf<Name> extends Job ? Name : never
}[RouteName]

/** The progress of a job while it runs. */
export type ProgressOf<Name extends JobName> = NonNullable<AnswerOf<Name>['progress']>

/** The result of a job. */
export type ResultOf<Name extends JobName> = AnswerOf<Name>['result'] & ({} | null)
