/**
 * The answers of the scripted model. A prompt carries its script as a mark: `[[NAME: STEP | STEP]]`. Each step is one
 * answer with tool calls, and after the last step comes a final text. NAME is unique in a run, so that the position in
 * the script does not depend on the messages that a compaction kept. A request without a mark continues the last script.
 *
 * | step                       | answer                                                  |
 * | -------------------------- | ------------------------------------------------------- |
 * | `read FILE`                | calls the tool that reads a file                        |
 * | `write FILE`               | calls the tool that writes a file                       |
 * | `ls`                       | runs `ls` in a shell                                    |
 * | `read FILE & ls`           | two calls in one answer                                 |
 * | `task STEP, STEP`          | starts a sub-agent whose prompt has these steps         |
 * | `call TOOL JSON`           | calls the tool whose name ends with TOOL when it is offered; until then looks for it |
 * | `hang`                     | begins an answer and never ends it                      |
 * | `garbled html`             | an HTML page with status 200                            |
 * | `garbled gzip`             | gzip without its header                                 |
 * | `compacted`                | the final text, after a compaction of the provider      |
 * | `say`                      | the final text, to give it a usage                      |
 * | `say TEXT`                 | the final text                                          |
 * | `… @N` after a step        | the answer reports N input tokens                       |
 */
import { NOTE_BEGINNING } from '../../../src/domain/values/recall-note.js'
import type { ScriptedAnswer } from '../../support/upstream-answers.js'
import { fieldsOf, jsonOf, type ModelRequest } from './request.js'

/** The tools of a program: how it names them and their arguments. */
export interface AgentTools {
  read(path: string): ToolUse
  write(path: string, text: string): ToolUse
  list(): ToolUse
  /** Undefined if the program has no sub-agents. */
  readonly delegate?: ((prompt: string) => ToolUse) | undefined
  /** Looks for a tool that is offered only after a search. Undefined if all are offered at once. */
  find?(name: string): ToolUse
  /** Calls a tool that is never offered itself. The request names it. */
  bridge?: ((name: string, input: ToolUse['input']) => ToolUse) | undefined
}

export interface ToolUse {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** An answer of the script. */
export interface ScriptedStep extends ScriptedAnswer {
  readonly hangs?: true
  /** The answer cannot be read. */
  readonly garbled?: 'html' | 'gzip'
  /** The provider compacts in the answer: the content of the item. */
  readonly compaction?: string
}

const MARK = /\[\[([\w-]+):([^\]]*)\]\]/gu

interface Mark {
  readonly name: string
  readonly steps: readonly string[]
}

/** Marks of the request's last user message that has one. */
function currentMark(request: ModelRequest): Mark | undefined {
  for (const message of request.messages.toReversed()) {
    if (message.role !== 'user') continue
    // A note of a hook quotes earlier prompts.
    const text = message.texts.map((each) => each.split(NOTE_BEGINNING)[0]).join('\n')
    const [, name, steps] = [...text.matchAll(MARK)].at(-1) ?? []
    if (name !== undefined && steps !== undefined) return { name, steps: steps.split('|').map((step) => step.trim()) }
  }
  return undefined
}

/** How often a tool is looked for: servers of tools start while the model works. */
const MOST_SEARCHES = 10

/** The position of each script, and its answers. */
export class Script {
  private readonly done = new Map<string, number>()
  private answers = 0
  private last: Mark | undefined
  private searches = 0

  constructor(
    private readonly tools: AgentTools,
    /** The program counts the tokens of texts itself, so an answer with a usage has as many words. */
    private readonly countsTokens: boolean,
  ) {}

  /** The next answer to a request of a turn. */
  next(request: ModelRequest): ScriptedStep {
    this.answers += 1
    const mark = currentMark(request) ?? this.last
    this.last = mark
    const number = `(answer ${String(this.answers)})`
    if (mark === undefined) return { text: `The work goes on ${number}.` }
    const at = this.done.get(mark.name) ?? 0
    this.done.set(mark.name, at + 1)
    const step = mark.steps[at]
    if (step === undefined && currentMark(request) === undefined) return { text: `The work goes on ${number}.` }
    if (step === undefined || step === '') return { text: `Done with ${mark.name} ${number}.` }
    const [what = '', tokens] = step.split('@').map((each) => each.trim())
    const usage = tokens === undefined ? {} : { inputTokens: Number(tokens) }
    const length = tokens !== undefined && this.countsTokens ? `${' hull'.repeat(Number(tokens))}.` : ''
    if (what === 'say') return { text: `Done with ${mark.name} ${number}.${length}`, ...usage }
    if (what.startsWith('say ')) return { text: what.slice('say '.length), ...usage }
    if (what === 'garbled html') return { garbled: 'html' }
    if (what === 'garbled gzip') return { garbled: 'gzip' }
    if (what === 'compacted')
      return { text: `Done with ${mark.name} ${number}.`, compaction: `encrypted ${number}`, ...usage }
    if (what === 'hang') return { text: `Begun with ${mark.name} ${number}.`, hangs: true, ...usage }
    const calls = what.split('&').map((call, index) => ({
      id: `call_${String(this.answers)}_${String(index)}`,
      ...this.toolUse(call.trim(), mark.name, request),
    }))
    return { text: `Step ${String(at + 1)} of ${mark.name} ${number}.${length}`, calls, ...usage }
  }

  private toolUse(call: string, scriptName: string, request: ModelRequest): ToolUse {
    const [verb = '', ...rest] = call.split(' ')
    const argument = rest.join(' ')
    if (verb === 'read') return this.tools.read(argument)
    if (verb === 'write') return this.tools.write(argument, `Written to ${argument}.\n`)
    if (verb === 'ls') return this.tools.list()
    if (verb === 'task' && this.tools.delegate !== undefined)
      return this.tools.delegate(`Look at the files. [[${scriptName}-sub: ${argument.replaceAll(',', '|')}]]`)
    const [tool = '', ...words] = rest
    if (verb === 'call') return this.offeredTool(tool, fieldsOf(jsonOf(words.join(' '))), scriptName, request)
    throw new Error(`the script has no step "${call}"`)
  }

  /** Calls a tool that the program offers under some name. Until it does, the step is repeated. */
  private offeredTool(name: string, input: ToolUse['input'], scriptName: string, request: ModelRequest): ToolUse {
    const { tools: offered, messages } = request
    if (this.tools.bridge !== undefined && JSON.stringify(messages).includes(`__${name}`))
      return this.tools.bridge(name, input)
    const offeredName = offered.find((each) => each.endsWith(name))
    if (offeredName !== undefined || this.searches >= MOST_SEARCHES) return { name: offeredName ?? name, input }
    this.searches += 1
    this.done.set(scriptName, (this.done.get(scriptName) ?? 1) - 1)
    return this.tools.find?.(name) ?? this.tools.list()
  }
}
