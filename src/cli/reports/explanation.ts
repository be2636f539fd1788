/** Where a summary or a line comes from, as it is shown. */
import { contentText } from '../../domain/values/message.js'
import type { Explanation, LineSource, OriginalMessage, PromptText, Withdrawn } from '../../library/ledger.js'
import { brief, colours, line, many, printable, typed } from '../output.js'
import { batchBranch, indented, messageBranch, recordedText, showBranch, TEXT_CHARACTERS } from './batch-tree.js'

async function showPrompts(prompts: readonly PromptText[]): Promise<void> {
  for (const { sha256, kind, text } of prompts) {
    await line(`\n${colours.bold(kind === 'template' ? 'prompt' : kind)} ${colours.dim(`SHA-256 ${sha256}`)}`)
    if (text === undefined) await line(colours.red('  its text is not recorded'))
    else for (const part of indented(text)) await line(part)
  }
}

/** The message that a sentence of an extractive summary stands in. */
async function showSaid(
  conversationId: string,
  { messageId, createdAt, message, recorded }: OriginalMessage,
): Promise<void> {
  await line(
    `said by ${message.role} in message ${colours.bold(printable(messageId))}, revision ${recorded.revision.toString()}, ${createdAt}: ${brief(contentText(message.content), TEXT_CHARACTERS)}`,
  )
  await line(
    colours.dim(
      `  what the model had before it then: context-ledger context ${typed(conversationId)} --at ${typed(messageId)}`,
    ),
  )
}

const withdrawnText = ({ revision, recordedAt, actor, why }: Withdrawn): string =>
  `withdrawn at revision ${revision.toString()} (${why}), ${recordedAt}, asked by ${printable(actor)}`

/** What became of the message that a line stands in. */
function placeText(batchId: string | undefined, withdrawn: Withdrawn | undefined): string {
  if (withdrawn !== undefined)
    return `the line is of a message that was ${withdrawnText(withdrawn)}; here as it was appended:`
  return batchId === undefined
    ? 'the line is of a live message, here as it was appended:'
    : 'the line is of a message that left the context, here as it was appended; this batch covers it:'
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
  placeholder: 'a placeholder for a result of a call that was not there yet',
  note: 'a note of what is left out to fit the window',
}

/** Shows where a summary or a line comes from; `open` shows the original messages whole. */
export async function showExplanation(explanation: Explanation, open: boolean): Promise<void> {
  const { conversationId } = explanation
  if (explanation.kind === 'shown-only') {
    const { what, text, asOf } = explanation
    await line(
      `${SHOWN_ONLY[what]}, which the ledger itself puts there and which is recorded nowhere; shown as of revision ${asOf.revision.toString()}, ${asOf.recordedAt}:\n  ${brief(text, TEXT_CHARACTERS)}`,
    )
    return
  }
  if (explanation.kind === 'several') {
    await line(`the line stands in ${String(explanation.sources.length)} places; a longer part of it may stand in one:`)
    for (const source of explanation.sources) await line(sourceText(source, conversationId))
    return
  }
  if (explanation.kind === 'view') {
    const { batches, cycles, liveMessages, asOf } = explanation
    if (asOf !== undefined)
      await line(
        `a line of the view itself, which counts, orders or omits what it is made of: as revision ${asOf.revision.toString()} made it, ${asOf.recordedAt}`,
      )
    await line(
      `${printable(conversationId)}: ${many(batches.length, 'active batch', 'active batches')} after ${many(cycles, 'cycle')}, ${many(liveMessages, 'live message')}`,
    )
    for (const batch of batches) await showBranch(batchBranch(batch, !open))
    const [first] = batches
    if (first !== undefined)
      await line(
        colours.dim(
          `each with prompt, model, usage and trigger: context-ledger explain ${typed(conversationId)} --batch ${first.batchId}`,
        ),
      )
    if (open) await showPrompts(explanation.prompts)
    return
  }
  if (explanation.found?.match === 'spacing') await line(colours.dim('found but for its white space'))
  if (explanation.kind === 'message') {
    const { message, batch, withdrawn } = explanation
    await line(placeText(batch?.batchId, withdrawn))
    await showBranch(messageBranch(message))
    await line(colours.dim(recordedText(message.recorded)))
    if (batch !== undefined) await showBranch(batchBranch(batch, false))
  } else {
    for (const message of explanation.said ?? []) await showSaid(conversationId, message)
    if (explanation.said !== undefined) await line('the summary that has it now:')
    await showBranch(batchBranch(explanation.batch, false))
  }
  await showPrompts(explanation.prompts)
}
