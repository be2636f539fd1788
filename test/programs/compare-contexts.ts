/**
 * Compares the context of an imported conversation with a request that the model received. Both lists are brought into one form;
 * each difference that is not the importer's is of a kind, and counted.
 *
 * These are no differences:
 * - instructions: messages of role `system`, and the field for instructions, which programs write again for each request
 * - additions of the program to a request that its transcript does not contain (`AgentProgram.additions`)
 * - how a text is divided into parts or into adjacent messages of one role, and white space at its ends
 * - a result that the list contains twice
 * - ids of calls: a result belongs to a call by its position
 */
import type { Addition } from './agent.js'
import type { ContextMessage } from './model/request.js'

/** A message in the form that is compared. */
interface NormalMessage {
  readonly role: ContextMessage['role']
  readonly text: string
  readonly calls: readonly string[]
  /** Of a result: the position of its call among all calls; -1 if its call is missing. */
  readonly resultOf?: number
}

export interface NormalContext {
  readonly messages: readonly NormalMessage[]
  /** Texts that were left out, by kind. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`
}

export function normalContext(list: readonly ContextMessage[], additions: readonly Addition[]): NormalContext {
  const leftOut = new Map<string, number>()
  const count = (kind: string): void => {
    leftOut.set(kind, (leftOut.get(kind) ?? 0) + 1)
  }
  const callIds: string[] = []
  const messages: NormalMessage[] = []
  for (const { role, texts, calls, resultOf } of list) {
    if (role === 'system') {
      count('system message')
      continue
    }
    let text = texts.map((each) => each.trim()).join('\n')
    if (role === 'user')
      for (const { kind, pattern } of additions)
        text = text.replaceAll(pattern, () => {
          count(kind)
          return ''
        })
    text = text.trim()
    if (role === 'tool') {
      const call = callIds.lastIndexOf(resultOf ?? '')
      if (messages.some((each) => each.role === 'tool' && each.resultOf === call && each.text === text)) {
        count('result sent again')
        continue
      }
      messages.push({ role, text, calls: [], resultOf: call })
      continue
    }
    if (text === '' && calls.length === 0) continue
    callIds.push(...calls.map(({ id }) => id))
    const called = calls.map(({ name, input }) => `${name} ${canonical(input)}`)
    const before = messages.at(-1)
    if (before?.role === role) {
      const joined = [before.text, text].filter((each) => each !== '').map((each) => each.trim())
      messages[messages.length - 1] = { role, text: joined.join('\n'), calls: [...before.calls, ...called] }
    } else messages.push({ role, text, calls: called })
  }
  return { messages: withResultsInOrder(messages), leftOut }
}

/** Results of parallel calls in the order of the calls. */
function withResultsInOrder(messages: readonly NormalMessage[]): NormalMessage[] {
  const ordered: NormalMessage[] = []
  let results: NormalMessage[] = []
  const flush = (): void => {
    ordered.push(...results.toSorted((a, b) => (a.resultOf ?? 0) - (b.resultOf ?? 0)))
    results = []
  }
  for (const message of messages)
    if (message.role === 'tool') results.push(message)
    else {
      flush()
      ordered.push(message)
    }
  flush()
  return ordered
}

const describeMessage = (message: NormalMessage | undefined): string => {
  if (message === undefined) return 'nothing'
  const { role, text, calls, resultOf } = message
  const words = [text, ...calls, ...(resultOf === undefined ? [] : [`(result of call ${String(resultOf)})`])].join(' ')
  return `${role}: ${JSON.stringify(words.length > 240 ? `${words.slice(0, 160)} … ${words.slice(-70)}` : words)}`
}

/** The first difference of two contexts; undefined if they are equal. */
export function firstDifference(received: NormalContext, imported: NormalContext): string | undefined {
  const length = Math.max(received.messages.length, imported.messages.length)
  for (let at = 0; at < length; at += 1) {
    const [theirs, ours] = [received.messages[at], imported.messages[at]]
    if (theirs === undefined || ours === undefined || canonical(theirs) !== canonical(ours))
      return `message ${String(at + 1)} of ${String(received.messages.length)}: the model received ${describeMessage(theirs)}; the context has ${describeMessage(ours)}`
  }
  return undefined
}
