/** The names of the tools that results come from. A result has only the id of its call, which is earlier in the log. */
import type { RecordedEvent } from '../../../domain/events/index.js'
import type { Ledger, SearchHit } from '../../../library/ledger.js'
import { CallPairing } from '../../../domain/conversation/call-groups.js'
import { contentText, type ToolCall } from '../../../domain/values/message.js'
import { toReportCall } from '../../../application/loss-report/compaction-reports.js'

/** Events before a part of the log in which the calls of its first results are. */
export const LOOK_BACK = 40

/** Learns the names from events in the order of the log. */
export class ToolNames {
  private readonly pairing = new CallPairing<ToolCall>()

  /** Notes the calls of an event, and returns the tool if the event is the result of a call. */
  toolOf(event: RecordedEvent): string | undefined {
    if (event.type !== 'MessageAppended') return undefined
    const { role, name } = event.data
    const answered = this.pairing.take(event.data, undefined)
    if (role !== 'tool') return undefined
    return answered === undefined ? name : toReportCall(answered.call).name.toLowerCase()
  }
}

/** The tools of hits that are results, as far as the log names them. A name is an addition, so this never fails. */
export async function toolsOfHits(
  ledger: Pick<Ledger, 'log'>,
  hits: readonly SearchHit[],
): Promise<ReadonlyMap<SearchHit, string>> {
  const tools = new Map<SearchHit, string>()
  const read = async (hit: SearchHit): Promise<void> => {
    const names = new ToolNames()
    const from = Math.max(0, hit.firstRevision - LOOK_BACK)
    for await (const event of ledger.log(hit.conversationId, { from, limit: hit.firstRevision - from + 1 })) {
      const tool = names.toolOf(event)
      if (tool !== undefined && event.revision === hit.firstRevision) tools.set(hit, tool)
    }
  }
  await Promise.all(hits.filter(({ role }) => role === 'tool').map((hit) => read(hit).catch(() => undefined)))
  return tools
}

/** The messages that call tools and have no text. A hit that cannot be read counts as text. */
export async function onlyCalls(
  ledger: Pick<Ledger, 'log'>,
  hits: readonly SearchHit[],
): Promise<ReadonlySet<SearchHit>> {
  const found = new Set<SearchHit>()
  const read = async (hit: SearchHit): Promise<void> => {
    for await (const event of ledger.log(hit.conversationId, { from: hit.firstRevision, limit: 1 }))
      if (event.type === 'MessageAppended' && contentText(event.data.content).trim() === '') found.add(hit)
  }
  await Promise.all(hits.filter(({ role }) => role === 'assistant').map((hit) => read(hit).catch(() => undefined)))
  return found
}
