/** An event as one line for people. `log` puts its revision, time and type in front. */
import type {
  EventData,
  RecordedEvent,
  SourcePlace,
  SummarizerRecord,
  ReplacementType,
} from '../../domain/events/index.js'
import { contentText } from '../../domain/values/message.js'
import { brief, count, many, printable } from '../output.js'

const TEXT_CHARACTERS = 160

const by = ({ strategy, model, usage, standIn, reused }: SummarizerRecord): string =>
  `${reused === true ? 'reused, ' : ''}by ${strategy}${model === strategy ? '' : ` (${printable(model)})`}${standIn === true ? ', as the FALLBACK: the summarizer failed at the hard limit' : ''}${usage === undefined ? '' : `, ${count(usage.promptTokens)} tokens asked, ${count(usage.completionTokens)} answered`}`

/** Where a transcript says something. */
export const sourceText = ({ file, line, path }: SourcePlace): string =>
  `${printable(file)}${line === undefined ? '' : `:${String(line)}`}${path === undefined ? '' : ` ${printable(path)}`}`

function spanOf(ids: readonly string[]): string {
  const [first = '', last = first] = [ids[0], ids.at(-1)]
  return printable(first === last ? first : `${first} to ${last}`)
}

function messageLine(data: Extract<RecordedEvent, { type: 'MessageAppended' }>['data']): string {
  const calls = (data.toolCalls ?? []).map(
    (call) => `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`,
  )
  const text = brief([contentText(data.content), ...calls].filter((part) => part !== '').join(' '), TEXT_CHARACTERS)
  const name = data.name === undefined ? '' : ` (${printable(data.name)})`
  const answers = data.toolCallId === undefined ? '' : ` answers ${printable(data.toolCallId)}`
  return `${printable(data.messageId)} ${data.role}${name}${answers}${data.pinned === true ? ', pinned' : ''}${data.leads === true ? ', leads' : ''}${data.answers === undefined ? '' : `, to the context of revision ${data.answers.revision}`}, ${many(data.tokens, 'token')}: ${text}`
}

function configurationLine({
  policy,
  settings,
  scope,
  estimator,
}: Extract<RecordedEvent, { type: 'ConversationConfigured' }>['data']): string {
  const set = Object.entries(settings).map(([key, value]) => `${key} ${String(value)}`)
  return `window ${count(policy.modelMaxTokens)} tokens, budget ${String(policy.contextBudget)}, view ${policy.view}, estimator ${estimator}${scope === undefined ? '' : `, scope ${printable(scope)}`}; set: ${set.length === 0 ? 'nothing, all defaults' : set.join(', ')}`
}

const replacementLine = ({ batches, restored, left, tokensBefore, tokensAfter }: EventData<ReplacementType>): string =>
  `${many(batches.length, 'batch', 'batches')}, ${many(restored.length, 'message')} back in the window, ${String(left.length)} out of it, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`

/** What an event says. */
export function describeEvent(event: RecordedEvent): string {
  switch (event.type) {
    case 'ConversationConfigured':
      return configurationLine(event.data)
    case 'MessageAppended':
      return messageLine(event.data)
    case 'MessagesWithdrawn':
      return `${many(event.data.messages.length, 'message')} (${spanOf(event.data.messages.map(({ messageId }) => messageId))}) withdrawn: ${event.data.why}`
    case 'MessagePinned':
      return `${printable(event.data.messageId)} stays, word for word`
    case 'MessageUnpinned':
      return `${printable(event.data.messageId)} may be compacted again`
    case 'ChunkSummarized':
      return `${many(event.data.messageCount, 'message')} (${spanOf(event.data.messageIds)}) ${by(event.data.summarizer)}: ${brief(event.data.summary, TEXT_CHARACTERS)}`
    case 'BatchArchived':
      return `${event.data.batchId} holds ${many(event.data.messageCount, 'message')} (${spanOf(event.data.messageIds)}), ${event.data.startTime} to ${event.data.endTime}, ${many(event.data.tokens, 'token')}`
    case 'BatchesResummarized':
      return `${many(event.data.sourceBatchIds.length, 'batch', 'batches')} became ${event.data.batchId}, depth ${String(event.data.depth)}, ${many(event.data.messageCount, 'message')}, ${by(event.data.summarizer)}`
    case 'MessagesPruned': {
      const { cycle, pruned, tokensBefore, tokensAfter, why } = event.data
      return `cycle ${String(cycle)}: ${many(
        pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0),
        'message',
      )} left, ${count(tokensBefore)} → ${count(tokensAfter)} tokens (${why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit ${count(why.threshold)}`})`
    }
    case 'EditionStarted':
      return `edition ${event.data.editionId} by ${event.data.summarizer.strategy} (${printable(event.data.summarizer.model)}); ${configurationLine(event.data.configuration)}`
    case 'EditionAdvanced':
      return `has seen the conversation up to revision ${String(event.data.conversationRevision)}`
    case 'EditionDropped':
      return `edition ${event.data.editionId} is given up`
    case 'EditionCompared': {
      const { against, losses, conversationRevision } = event.data
      const lost = losses.reduce((sum, kind) => sum + kind.lost.kept.count, 0)
      return `compared with ${against === undefined ? 'what was in force' : `edition ${against.editionId}`} as of revision ${String(conversationRevision)}: of ${many(
        losses.reduce((sum, kind) => sum + kind.total, 0),
        'name, number and constraint',
        'names, numbers and constraints',
      )} it loses ${count(lost)} that the other side keeps`
    }
    case 'EditionAdopted':
      return `edition ${event.data.editionId} is in force: ${replacementLine(event.data)}`
    case 'EditionReverted':
      return `edition ${event.data.editionId} is in force no more, ${event.data.restores === undefined ? "the conversation's own batches are" : `edition ${event.data.restores} is`} again: ${replacementLine(event.data)}`
    case 'CycleUndone':
      return `${event.data.undone.length === 1 ? 'cycle' : 'cycles'} ${event.data.undone.map(({ cycle }) => String(cycle)).join(', ')} undone: ${replacementLine(event.data)}${event.data.restsUntilMessages === 0 ? '' : `; the soft limit starts no cycle before message ${String(event.data.restsUntilMessages)}`}`
    case 'CompactionFailed': {
      const { failure, detail, step, strategy, model, attempt, retryAfterMessages, trigger } = event.data
      return `FAILED (${failure}) ${trigger === 'ahead' ? 'ahead of need' : `at the ${trigger} limit`}, attempt ${String(attempt)}, ${step} by ${strategy}${model === strategy ? '' : ` (${printable(model)})`}: ${brief(detail, 400)}; next try after ${many(retryAfterMessages, 'further message')}`
    }
    case 'SummarySetAside': {
      const { messageIds = [], sourceBatchIds = [], summarizer, summary } = event.data
      const what =
        messageIds.length > 0
          ? `${many(messageIds.length, 'message')} (${spanOf(messageIds)})`
          : many(sourceBatchIds.length, 'batch', 'batches')
      return `${what} ${by(summarizer)}. Others had compacted these messages meanwhile, so it waits for the same request: ${brief(summary, TEXT_CHARACTERS)}`
    }
    case 'CompactionCouldNotHelp':
      return `COULD NOT HELP (${event.data.reason}) at the ${event.data.trigger} limit: ${count(event.data.tokens)} tokens, limit ${count(event.data.limit)}; ${many(event.data.messageIds.length, 'message')} may not be folded`
    case 'ConversationObserved': {
      const { program, programVersion, sourceId, parent, title, where } = event.data
      const from =
        parent === undefined
          ? ''
          : `, ${parent.how === 'fork' ? 'forked from' : 'called by'} ${printable(parent.conversationId)}`
      return `${printable(program)}${programVersion === undefined ? '' : ` ${printable(programVersion)}`} holds it as ${printable(sourceId)}${from}${title === undefined ? '' : `: ${brief(title, TEXT_CHARACTERS)}`} (${sourceText(where)})`
    }
    case 'CompactionObserved': {
      const { program, trigger, covered, unknown, context, summary, told, where } = event.data
      const stayed = context.filter(({ kind }) => kind === 'message').length
      const tokens =
        told.tokensBefore === undefined
          ? ''
          : `, ${count(told.tokensBefore)}${told.tokensAfter === undefined ? '' : ` → ${count(told.tokensAfter)}`} tokens by its own count`
      const text =
        summary.kind === 'text'
          ? brief(summary.text, TEXT_CHARACTERS)
          : summary.kind === 'opaque'
            ? 'a summary that only its provider reads'
            : 'no summary'
      return `${printable(program)} compacted (${trigger}): ${many(covered?.messageCount ?? 0, 'message')} left${unknown.length === 0 ? '' : ` (of ${count(unknown.length)} it does not say so)`}, ${count(stayed)} stayed${tokens}: ${text} (${sourceText(where)})`
    }
    case 'ContributionEdited':
      return `${printable(event.data.messageId)} ${event.data.why}: the model is given ${event.data.content === null ? 'nothing' : `"${brief(contentText(event.data.content), TEXT_CHARACTERS)}"`} in its place (${sourceText(event.data.where)})`
    case 'TranscriptDamaged':
      return `${sourceText(event.data.where)}: ${printable(event.data.detail)}`
    case 'PromptRegistered':
      return `${event.data.kind} ${printable(event.data.name)}, ${event.data.sha256.slice(0, 12)}`
  }
}
