/** A fact as one line for people: what it says, in words. `log` puts revision, time and type in front of it. */
import type { FactData, RecordedFact, SummarizerFacts, TakeoverType } from '../domain/events/index.js'
import { contentText } from '../domain/values/message.js'
import { brief, count, many, shown } from './output.js'

const TEXT_CHARACTERS = 160

const by = ({ strategy, model, usage, standIn, reused }: SummarizerFacts): string =>
  `${reused === true ? 'taken over, ' : ''}by ${strategy}${model === strategy ? '' : ` (${shown(model)})`}${standIn === true ? ', which STOOD IN for the summarizer at the hard limit' : ''}${usage === undefined ? '' : `, ${count(usage.promptTokens)} tokens asked, ${count(usage.completionTokens)} answered`}`

function spanOf(ids: readonly string[]): string {
  const [first = '', last = first] = [ids[0], ids.at(-1)]
  return shown(first === last ? first : `${first} to ${last}`)
}

function messageLine(data: Extract<RecordedFact, { type: 'MessageAppended' }>['data']): string {
  const calls = (data.toolCalls ?? []).map((call) => `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`)
  const text = brief([contentText(data.content), ...calls].filter((part) => part !== '').join(' '), TEXT_CHARACTERS)
  const name = data.name === undefined ? '' : ` (${shown(data.name)})`
  const answers = data.toolCallId === undefined ? '' : ` answers ${shown(data.toolCallId)}`
  return `${shown(data.messageId)} ${data.role}${name}${answers}${data.pinned === true ? ', pinned' : ''}${data.leads === true ? ', leads' : ''}${data.answers === undefined ? '' : `, to the context of revision ${data.answers.revision}`}, ${many(data.tokens, 'token')}: ${text}`
}

function configurationLine({ policy, settings, scope, estimator }: Extract<RecordedFact, { type: 'ConversationConfigured' }>['data']): string {
  const set = Object.entries(settings).map(([key, value]) => `${key} ${String(value)}`)
  return `window ${count(policy.modelMaxTokens)} tokens, budget ${String(policy.contextBudget)}, view ${policy.view}, estimator ${estimator}${scope === undefined ? '' : `, scope ${shown(scope)}`}; set: ${set.length === 0 ? 'nothing, all defaults' : set.join(', ')}`
}

const takeoverLine = ({ batches, restored, left, tokensBefore, tokensAfter }: FactData<TakeoverType>): string =>
  `${many(batches.length, 'batch', 'batches')}, ${many(restored.length, 'message')} back in the window, ${String(left.length)} out of it, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`

/** What a fact says. */
export function describeFact(fact: RecordedFact): string {
  switch (fact.type) {
    case 'ConversationConfigured':
      return configurationLine(fact.data)
    case 'MessageAppended':
      return messageLine(fact.data)
    case 'MessagesWithdrawn':
      return `${many(fact.data.messages.length, 'message')} (${spanOf(fact.data.messages.map(({ messageId }) => messageId))}) withdrawn: ${fact.data.why}`
    case 'MessagePinned':
      return `${shown(fact.data.messageId)} stays, word for word`
    case 'MessageUnpinned':
      return `${shown(fact.data.messageId)} may be folded again`
    case 'ChunkSummarized':
      return `${many(fact.data.messageCount, 'message')} (${spanOf(fact.data.messageIds)}) ${by(fact.data.summarizer)}: ${brief(fact.data.summary, TEXT_CHARACTERS)}`
    case 'BatchArchived':
      return `${fact.data.batchId} holds ${many(fact.data.messageCount, 'message')} (${spanOf(fact.data.messageIds)}), ${fact.data.startTime} to ${fact.data.endTime}, ${many(fact.data.tokens, 'token')}`
    case 'BatchesResummarized':
      return `${many(fact.data.sourceBatchIds.length, 'batch', 'batches')} became ${fact.data.batchId}, depth ${String(fact.data.depth)}, ${many(fact.data.messageCount, 'message')}, ${by(fact.data.summarizer)}`
    case 'MessagesPruned': {
      const { cycle, pruned, tokensBefore, tokensAfter, why } = fact.data
      return `cycle ${String(cycle)}: ${many(pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0), 'message')} left, ${count(tokensBefore)} → ${count(tokensAfter)} tokens (${why.trigger} limit ${count(why.threshold)})`
    }
    case 'EditionStarted':
      return `edition ${fact.data.editionId} by ${fact.data.summarizer.strategy} (${shown(fact.data.summarizer.model)}); ${configurationLine(fact.data.configuration)}`
    case 'EditionAdvanced':
      return `has seen the conversation up to revision ${String(fact.data.conversationRevision)}`
    case 'EditionDropped':
      return `edition ${fact.data.editionId} is given up`
    case 'EditionCompared': {
      const { against, losses, conversationRevision } = fact.data
      const lost = losses.reduce((sum, kind) => sum + kind.lost.kept.count, 0)
      return `compared with ${against === undefined ? 'what was in force' : `edition ${against.editionId}`} as of revision ${String(conversationRevision)}: of ${many(losses.reduce((sum, kind) => sum + kind.total, 0), 'name, number and constraint', 'names, numbers and constraints')} it loses ${count(lost)} that the other side keeps`
    }
    case 'EditionAdopted':
      return `edition ${fact.data.editionId} is in force: ${takeoverLine(fact.data)}`
    case 'EditionReverted':
      return `edition ${fact.data.editionId} is in force no more, ${fact.data.restores === undefined ? "the conversation's own batches are" : `edition ${fact.data.restores} is`} again: ${takeoverLine(fact.data)}`
    case 'CycleUndone':
      return `${fact.data.undone.length === 1 ? 'cycle' : 'cycles'} ${fact.data.undone.map(({ cycle }) => String(cycle)).join(', ')} undone: ${takeoverLine(fact.data)}${fact.data.restsUntilMessages === 0 ? '' : `; the soft limit rests until message ${String(fact.data.restsUntilMessages)}`}`
    case 'CompactionFailed': {
      const { failure, detail, step, strategy, model, attempt, retryAfterMessages, trigger } = fact.data
      return `FAILED (${failure}) ${trigger === 'ahead' ? 'ahead of need' : `at the ${trigger} limit`}, attempt ${String(attempt)}, ${step} by ${strategy}${model === strategy ? '' : ` (${shown(model)})`}: ${brief(detail, 400)}; next try after ${many(retryAfterMessages, 'further message')}`
    }
    case 'SummarySetAside': {
      const { messageIds = [], sourceBatchIds = [], summarizer, summary } = fact.data
      const what = messageIds.length > 0 ? `${many(messageIds.length, 'message')} (${spanOf(messageIds)})` : many(sourceBatchIds.length, 'batch', 'batches')
      return `${what} ${by(summarizer)}, compacted by others meanwhile; kept for when the same is asked again: ${brief(summary, TEXT_CHARACTERS)}`
    }
    case 'CompactionCouldNotHelp':
      return `COULD NOT HELP (${fact.data.reason}) at the ${fact.data.trigger} limit: ${count(fact.data.tokens)} tokens, limit ${count(fact.data.limit)}; ${many(fact.data.messageIds.length, 'message')} may not be folded`
    case 'PromptRegistered':
      return `${fact.data.kind} ${shown(fact.data.name)}, ${fact.data.sha256.slice(0, 12)}`
  }
}
