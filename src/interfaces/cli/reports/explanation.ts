/** Prints the sources of a summary or a line. */
import { contentText } from '../../../domain/values/message.js'
import type { Explanation, LineSource, OriginalMessage, PromptText, Withdrawn } from '../../../library/ledger.js'
import { brief, colours, line, many, printable, typed } from '../output.js'
import { batchBranch, indented, messageBranch, recordedText, showBranch, TEXT_CHARACTERS } from './batch-tree.js'

async function showPrompts(prompts: readonly PromptText[]): Promise<void> {
  for (const { sha256, kind, text } of prompts) {
    await line(`\n${colours.bold(kind === 'template' ? 'prompt' : kind)} ${colours.dim(`SHA-256 ${sha256}`)}`)
    if (text === undefined) await line(colours.red('  the text is not recorded'))
    else for (const part of indented(text)) await line(part)
  }
}

/** The message that contains a sentence of an extractive summary. */
async function showSourceMessage(
  conversationId: string,
  { messageId, createdAt, message, recorded }: OriginalMessage,
): Promise<void> {
  await line(
    `from ${message.role} message ${colours.bold(printable(messageId))}, revision ${recorded.revision.toString()}, ${createdAt}: ${brief(contentText(message.content), TEXT_CHARACTERS)}`,
  )
  await line(
    colours.dim(
      `  the model’s context at that point: context-ledger context ${typed(conversationId)} --at ${typed(messageId)}`,
    ),
  )
}

const withdrawnText = ({ revision, recordedAt, actor, why }: Withdrawn): string =>
  `withdrawn at revision ${revision.toString()} (${why}), ${recordedAt}, by ${printable(actor)}`

/** Introduces the message that contains the line. */
function introduction(batchId: string | undefined, withdrawn: Withdrawn | undefined): string {
  if (withdrawn !== undefined)
    return `the line is from a message that was ${withdrawnText(withdrawn)}; the message as appended:`
  return batchId === undefined
    ? 'the line is from a live message; the message as appended:'
    : 'the line is from a compacted message; the message as appended, and the batch that covers it:'
}

function sourceText(source: LineSource, conversationId: string): string {
  const excerpt = `\n   ${brief(source.excerpt, TEXT_CHARACTERS)}`
  if (source.kind === 'batch')
    return `${colours.bold(source.batchId)} depth ${String(source.depth)}, ${source.startTime} to ${source.endTime}: context-ledger explain ${typed(conversationId)} --batch ${source.batchId}${excerpt}`
  const archived =
    source.withdrawn !== undefined
      ? `, ${withdrawnText(source.withdrawn)}`
      : source.batchId === undefined
        ? ', live'
        : `, archived: context-ledger explain ${typed(conversationId)} --batch ${source.batchId}`
  return `message ${colours.bold(printable(source.messageId))} revision ${source.revision.toString()}${archived}${excerpt}`
}

const SHOWN_ONLY: Readonly<Record<Extract<Explanation, { kind: 'shown-only' }>['what'], string>> = {
  placeholder: 'a placeholder for the missing result of a tool call',
  note: 'a note about content omitted to fit the window',
  inserted: 'a user message that the API needs',
}

/** Prints the sources of a summary or a line; `open` prints the original messages in full. */
export async function showExplanation(explanation: Explanation, open: boolean): Promise<void> {
  const { conversationId } = explanation
  if (explanation.kind === 'shown-only') {
    const { what, text, asOf } = explanation
    await line(
      `${SHOWN_ONLY[what]}, added by the ledger and not recorded; as of revision ${asOf.revision.toString()}, ${asOf.recordedAt}:\n  ${brief(text, TEXT_CHARACTERS)}`,
    )
    return
  }
  if (explanation.kind === 'several') {
    await line(`the line occurs in ${String(explanation.sources.length)} places; a longer part of it may be unique:`)
    for (const source of explanation.sources) await line(sourceText(source, conversationId))
    return
  }
  if (explanation.kind === 'view') {
    const { batches, cycles, liveMessages, asOf } = explanation
    if (asOf !== undefined)
      await line(
        `a line of the view’s own text, not of a summary; as of revision ${asOf.revision.toString()}, ${asOf.recordedAt}`,
      )
    await line(
      `${printable(conversationId)}: ${many(batches.length, 'active batch', 'active batches')} after ${many(cycles, 'cycle')}, ${many(liveMessages, 'live message')}`,
    )
    for (const batch of batches) await showBranch(batchBranch(batch, !open))
    const [first] = batches
    if (first !== undefined)
      await line(
        colours.dim(
          `details of a batch (prompt, model, usage, trigger): context-ledger explain ${typed(conversationId)} --batch ${first.batchId}`,
        ),
      )
    if (open) await showPrompts(explanation.prompts)
    return
  }
  if (explanation.found?.match === 'spacing') await line(colours.dim('found, ignoring white space'))
  if (explanation.kind === 'message') {
    const { message, batch, withdrawn } = explanation
    await line(introduction(batch?.batchId, withdrawn))
    await showBranch(messageBranch(message))
    await line(colours.dim(recordedText(message.recorded)))
    if (batch !== undefined) await showBranch(batchBranch(batch, false))
  } else {
    for (const message of explanation.said ?? []) await showSourceMessage(conversationId, message)
    if (explanation.said !== undefined) await line('the summary that contains it now:')
    await showBranch(batchBranch(explanation.batch, false))
  }
  await showPrompts(explanation.prompts)
}
