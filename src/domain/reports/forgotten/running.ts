/** Calls that were made and had no answer when the context was compacted, and agents and commands that still ran. */
import type { Said } from './said.js'
import type { Work } from './works.js'

export interface Running {
  readonly work: Work
  readonly kind: 'openCall' | 'subAgent'
}

// What a program answers for something that it started and does not wait for.
const STARTED =
  /running in (?:the )?background|async agent launched|agent (?:started|launched|spawned)|started in background|process running with session/iu
// The id that it can be asked by afterwards.
const ID = /\b(?:ID|agentId|agent_id|task_id|bash_id|session(?: ID)?|shell_id)\b["':\s]*([\w-]{2,60})/iu
const ENDED =
  /\b(?:completed|finished|done|exited|killed|stopped|failed|terminated)\b|not found|no such|exit(?:ed with)? code/iu
const AROUND = 400
const WORD = /[\w-]{2,60}/gu

const isAgent = ({ asked }: Work): boolean => asked.use === 'agent'

/** What a call started and did not wait for: the id that it has, or '' where its program tells none. */
function startedBy(work: Work): string | undefined {
  const said = work.result?.text.slice(0, 1_200) ?? ''
  const mayRunOn = work.asked.inBackground || isAgent(work) || work.asked.use === 'shell'
  return mayRunOn && STARTED.test(said) ? (ID.exec(said)?.[1] ?? '') : undefined
}

/** Which of these ids some later message says to have ended: in a result of its own, or in a notice. */
function endedIn(started: ReadonlyMap<string, Work>, messages: readonly Said[]): ReadonlySet<string> {
  const ended = new Set<string>()
  if (started.size === 0) return ended
  const asks = new Map<string, string>()
  for (const message of messages) {
    for (const call of message.toolCalls ?? [])
      for (const [word] of call.arguments.matchAll(WORD)) if (started.has(word)) asks.set(call.id, word)
    const asked = asks.get(message.toolCallId ?? '')
    if (asked !== undefined && ENDED.test(message.text)) ended.add(asked)
    for (const match of message.text.matchAll(WORD)) {
      const work = started.get(match[0])
      if (work === undefined || work.result === message) continue
      if (ENDED.test(message.text.slice(Math.max(0, match.index - AROUND), match.index + AROUND))) ended.add(match[0])
    }
  }
  return ended
}

/**
 * What still ran when these messages left.
 * @param stayed where the answer of a call may stand
 */
export function runningIn(left: readonly Said[], works: readonly Work[], stayed: readonly Said[]): Running[] {
  const all = [...left, ...stayed]
  const answered = new Set(all.flatMap(({ toolCallId }) => toolCallId ?? []))
  const started = new Map(works.map((work) => [startedBy(work) ?? '', work] as const).filter(([id]) => id !== ''))
  const ended = endedIn(started, all)
  return works
    .filter((work) => {
      if (!answered.has(work.call.id)) return true
      const id = startedBy(work)
      // Of what has no id nobody can say that it ended.
      return id !== undefined && id !== '' && !ended.has(id)
    })
    .map((work) => ({ work, kind: isAgent(work) ? 'subAgent' : 'openCall' }))
}
