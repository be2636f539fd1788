/** Describes an event in one line. `log` prints revision, time and type before it. */
import { summarizerNotes } from '../../../domain/reports/summarizer-notes.js'
import type {
  EventData,
  RecordedEvent,
  SourcePlace,
  SummarizerRecord,
  ReplacementType,
} from '../../../domain/events/index.js'
import { contentText } from '../../../domain/values/message.js'
import { durationText } from '../../../domain/values/duration.js'
import { brief, count, many, printable } from '../output.js'

const TEXT_CHARACTERS = 160

function by(summarizer: SummarizerRecord): string {
  const { strategy, model, usage } = summarizer
  const notes = summarizerNotes(summarizer).map((note) => `, ${note}`)
  return `by ${strategy}${model === strategy ? '' : ` (${printable(model)})`}${notes.join('')}${usage === undefined ? '' : `, ${count(usage.promptTokens)} prompt tokens, ${count(usage.completionTokens)} completion tokens`}`
}

const scopeText = (scope: string | undefined): string =>
  scope === undefined ? 'all conversations' : `scope ${printable(scope)}`

/** A place in a transcript. */
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
  const set = Object.entries(settings).map(
    ([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
  )
  return `window ${count(policy.modelMaxTokens)} tokens, budget ${String(policy.contextBudget)}, view ${policy.view}, estimator ${estimator}${scope === undefined ? '' : `, scope ${printable(scope)}`}; settings: ${set.length === 0 ? 'all defaults' : set.join(', ')}`
}

const replacementLine = ({ batches, restored, left, tokensBefore, tokensAfter }: EventData<ReplacementType>): string =>
  `${many(batches.length, 'batch', 'batches')}, ${many(restored.length, 'message')} restored, ${String(left.length)} removed, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`

export function describeEvent(event: RecordedEvent): string {
  switch (event.type) {
    case 'ConversationConfigured':
      return configurationLine(event.data)
    case 'MessageAppended':
      return messageLine(event.data)
    case 'MessagesWithdrawn':
      return `${many(event.data.messages.length, 'message')} (${spanOf(event.data.messages.map(({ messageId }) => messageId))}) withdrawn: ${event.data.why}`
    case 'MessagePinned':
      return `${printable(event.data.messageId)} is never compacted`
    case 'MessageUnpinned':
      return `${printable(event.data.messageId)} may be compacted again`
    case 'ChunkSummarized':
      return `${many(event.data.messageCount, 'message')} (${spanOf(event.data.messageIds)}) ${by(event.data.summarizer)}: ${brief(event.data.summary, TEXT_CHARACTERS)}`
    case 'BatchArchived':
      return `${event.data.batchId} has ${many(event.data.messageCount, 'message')} (${spanOf(event.data.messageIds)}), ${event.data.startTime} to ${event.data.endTime}, ${many(event.data.tokens, 'token')}`
    case 'BatchesResummarized':
      return `${many(event.data.sourceBatchIds.length, 'batch', 'batches')} became ${event.data.batchId}, depth ${String(event.data.depth)}, ${many(event.data.messageCount, 'message')}, ${by(event.data.summarizer)}`
    case 'MessagesPruned': {
      const { cycle, pruned, tokensBefore, tokensAfter, why } = event.data
      return `cycle ${String(cycle)}: ${many(
        pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0),
        'message',
      )} removed, ${count(tokensBefore)} → ${count(tokensAfter)} tokens (${why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit ${count(why.threshold)}`})`
    }
    case 'EditionStarted':
      return `edition ${event.data.editionId} by ${event.data.summarizer.strategy} (${printable(event.data.summarizer.model)}); ${configurationLine(event.data.configuration)}`
    case 'EditionAdvanced':
      return `processed the conversation up to revision ${String(event.data.conversationRevision)}`
    case 'EditionDropped':
      return `edition ${event.data.editionId} is dropped`
    case 'EditionCompared': {
      const { against, losses, conversationRevision } = event.data
      const lost = losses.reduce((sum, kind) => sum + kind.lost.kept.count, 0)
      return `compared with ${against === undefined ? 'the active context' : `edition ${against.editionId}`} as of revision ${String(conversationRevision)}: of ${many(
        losses.reduce((sum, kind) => sum + kind.total, 0),
        'name, number and constraint',
        'names, numbers and constraints',
      )} the edition loses ${count(lost)} that the other side keeps`
    }
    case 'EditionAdopted':
      return `edition ${event.data.editionId} is active: ${replacementLine(event.data)}`
    case 'EditionReverted':
      return `edition ${event.data.editionId} is no longer active, ${event.data.restores === undefined ? "the conversation's own batches are" : `edition ${event.data.restores} is`} active again: ${replacementLine(event.data)}`
    case 'CycleUndone':
      return `${event.data.undone.length === 1 ? 'cycle' : 'cycles'} ${event.data.undone.map(({ cycle }) => String(cycle)).join(', ')} undone: ${replacementLine(event.data)}${event.data.softLimitBackoffUntil === 0 ? '' : `; the soft limit starts no cycle before message ${String(event.data.softLimitBackoffUntil)}`}`
    case 'CompactionFailed': {
      const { failure, detail, step, strategy, model, attempt, retryAfterMessages, trigger } = event.data
      return `FAILED (${failure}) ${trigger === 'ahead' ? 'ahead of need' : `at the ${trigger} limit`}, attempt ${String(attempt)}, ${step} by ${strategy}${model === strategy ? '' : ` (${printable(model)})`}: ${brief(detail, 400)}; next try after ${many(retryAfterMessages, 'more message')}`
    }
    case 'SummarySetAside': {
      const { messageIds = [], sourceBatchIds = [], summarizer, summary } = event.data
      const what =
        messageIds.length > 0
          ? `${many(messageIds.length, 'message')} (${spanOf(messageIds)})`
          : many(sourceBatchIds.length, 'batch', 'batches')
      return `${what} ${by(summarizer)}. These messages were compacted in the meantime, so the summary is kept for an identical request: ${brief(summary, TEXT_CHARACTERS)}`
    }
    case 'CompactionCouldNotHelp':
      return `COULD NOT REDUCE ENOUGH (${event.data.reason}) at the ${event.data.trigger} limit: ${count(event.data.tokens)} tokens, limit ${count(event.data.limit)}; ${many(event.data.messageIds.length, 'message')} cannot be compacted`
    case 'ConversationObserved': {
      const { program, programVersion, sourceId, parent, title, where } = event.data
      const from =
        parent === undefined
          ? ''
          : `, ${parent.how === 'fork' ? 'forked from' : 'called by'} ${printable(parent.conversationId)}`
      return `${printable(program)}${programVersion === undefined ? '' : ` ${printable(programVersion)}`} session ${printable(sourceId)}${from}${title === undefined ? '' : `: ${brief(title, TEXT_CHARACTERS)}`} (${sourceText(where)})`
    }
    case 'CompactionObserved': {
      const { program, trigger, covered, unknown, context, summary, told, where } = event.data
      const remaining = context.filter(({ kind }) => kind === 'message').length
      const tokens =
        told.tokensBefore === undefined
          ? ''
          : `, ${count(told.tokensBefore)}${told.tokensAfter === undefined ? '' : ` → ${count(told.tokensAfter)}`} tokens (reported)`
      const text =
        summary.kind === 'text'
          ? brief(summary.text, TEXT_CHARACTERS)
          : summary.kind === 'opaque'
            ? 'a summary that is not readable'
            : 'no summary'
      return `${printable(program)} compacted (${trigger}): ${many(covered?.messageCount ?? 0, 'message')} removed${unknown.length === 0 ? '' : ` (${count(unknown.length)} of them not stated)`}, ${count(remaining)} kept${tokens}: ${text} (${sourceText(where)})`
    }
    case 'ContributionEdited':
      return `${printable(event.data.messageId)} ${event.data.why}: the model receives ${event.data.content === null ? 'nothing' : `"${brief(contentText(event.data.content), TEXT_CHARACTERS)}"`} instead (${sourceText(event.data.where)})`
    case 'ConversationTitled':
      return `${brief(event.data.title, TEXT_CHARACTERS)} (${sourceText(event.data.where)})`
    case 'TranscriptDamaged':
      return `${sourceText(event.data.where)}: ${printable(event.data.detail)}`
    case 'ErasureRequested': {
      const { scope, messages, reason } = event.data
      return `${scope === 'conversation' ? 'the whole conversation' : many(messages?.length ?? 0, 'message')} will be erased: ${brief(reason, TEXT_CHARACTERS)}`
    }
    case 'ErasureCompleted': {
      const { messages, summaries, keys } = event.data.receipt
      return `${many(messages, 'message')} and ${many(summaries, 'summary', 'summaries')} erased, ${many(keys.length, 'key')} destroyed`
    }
    case 'RetentionRulesSet': {
      const { scope, keepAtLeast, eraseAfter, reason } = event.data
      const rules = [
        ...(keepAtLeast === undefined ? [] : [`keep at least ${durationText(keepAtLeast)}`]),
        ...(eraseAfter === undefined ? [] : [`erase after ${durationText(eraseAfter)}`]),
      ]
      return `${scopeText(scope)}: ${rules.length === 0 ? 'no rules' : rules.join(', ')}: ${brief(reason, TEXT_CHARACTERS)}`
    }
    case 'RetentionHoldPlaced': {
      const { holdId, conversationId, scope, reason } = event.data
      return `hold ${holdId} on ${conversationId === undefined ? scopeText(scope) : printable(conversationId)}: ${brief(reason, TEXT_CHARACTERS)}`
    }
    case 'RetentionHoldReleased':
      return `hold ${event.data.holdId} released: ${brief(event.data.reason, TEXT_CHARACTERS)}`
    case 'RetentionRunStarted':
      return `run ${event.data.runId} will erase ${many(event.data.due.length, 'conversation')}`
    case 'RetentionRunCompleted': {
      const { erased, kept } = event.data.receipt
      return `run ${event.data.runId} erased ${many(erased.length, 'conversation')} and kept ${count(kept.length)} of its plan`
    }
    case 'PromptRegistered':
      return `${event.data.kind} ${printable(event.data.name)}, ${event.data.sha256.slice(0, 12)}`
  }
}
