/**
 * The tools of the programs, and how a call of one program becomes a call of another. A call is translated only if the
 * target has a tool for the same action and knows every argument that changes the action; any other call becomes text.
 */

/** Arguments by name. */
type Arguments = Readonly<Record<string, unknown>>

/** The actions that several programs have tools for, with the arguments that change their effect. */
interface Actions {
  readonly run: 'command' | 'directory'
  /** Lines count from 1. */
  readonly read: 'path' | 'offset' | 'limit'
  readonly write: 'path' | 'content'
  readonly edit: 'path' | 'before' | 'after' | 'all'
  readonly search: 'pattern' | 'path'
  readonly find: 'pattern' | 'path'
  readonly list: 'path'
}
type Action = keyof Actions

/** An action with its arguments. */
interface Act {
  readonly action: Action
  readonly arguments: Arguments
}

interface Tool<Kind extends Action = Action> {
  readonly name: string
  readonly action: Kind
  /** The tool's name of each argument of the action. An action with an argument that the tool lacks is not written. */
  readonly fields: Readonly<Partial<Record<Actions[Kind], string>>>
  /** Arguments that do not change the action: descriptions, time limits. They are left out of a translation. */
  readonly ignored?: readonly string[]
  /** Converts the value of an argument of this name on reading; undefined if it has no equivalent. */
  readonly decode?: Readonly<Record<string, (value: unknown) => unknown>>
  /** Earlier name of a tool: it is read but not written. */
  readonly isOld?: true
}

const tool = <Kind extends Action>(
  action: Kind,
  name: string,
  fields: Tool<Kind>['fields'],
  rest: Pick<Tool, 'ignored' | 'decode' | 'isOld'> = {},
): Tool => ({ action, name, fields, ...rest })

const SHELLS = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|)sh$/u

/** The script of `["bash", "-lc", script]`. */
const scriptOf = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 3 && SHELLS.test(String(value[0])) && /^-l?c$/u.test(String(value[1]))
    ? value[2]
    : undefined

const CODEX_IGNORED = [
  'timeout_ms',
  'yield_time_ms',
  'max_output_tokens',
  'justification',
  'with_escalated_permissions',
]

/** The tools of each program, by its name as importers use it. */
const TOOLS: Readonly<Record<string, readonly Tool[]>> = {
  'claude-code': [
    tool('run', 'Bash', { command: 'command' }, { ignored: ['description', 'timeout'] }),
    tool('read', 'Read', { path: 'file_path', offset: 'offset', limit: 'limit' }),
    tool('write', 'Write', { path: 'file_path', content: 'content' }),
    tool('edit', 'Edit', { path: 'file_path', before: 'old_string', after: 'new_string', all: 'replace_all' }),
    tool('search', 'Grep', { pattern: 'pattern', path: 'path' }),
    tool('find', 'Glob', { pattern: 'pattern', path: 'path' }),
  ],
  codex: [
    tool('run', 'exec_command', { command: 'cmd', directory: 'workdir' }, { ignored: CODEX_IGNORED }),
    tool(
      'run',
      'shell',
      { command: 'command', directory: 'workdir' },
      { ignored: CODEX_IGNORED, decode: { command: scriptOf }, isOld: true },
    ),
    tool('run', 'shell_command', { command: 'command', directory: 'workdir' }, { ignored: CODEX_IGNORED, isOld: true }),
  ],
  opencode: [
    tool('run', 'bash', { command: 'command', directory: 'workdir' }, { ignored: ['description', 'timeout'] }),
    tool('read', 'read', { path: 'filePath' }),
    tool('write', 'write', { path: 'filePath', content: 'content' }),
    tool('edit', 'edit', { path: 'filePath', before: 'oldString', after: 'newString', all: 'replaceAll' }),
    tool('search', 'grep', { pattern: 'pattern', path: 'path' }),
    tool('find', 'glob', { pattern: 'pattern', path: 'path' }),
  ],
  pi: [
    tool('run', 'bash', { command: 'command' }, { ignored: ['timeout'] }),
    tool('read', 'read', { path: 'path', offset: 'offset', limit: 'limit' }),
    tool('write', 'write', { path: 'path', content: 'content' }),
    tool('edit', 'edit', { path: 'path', before: 'oldText', after: 'newText' }),
    tool('search', 'grep', { pattern: 'pattern', path: 'path' }, { ignored: ['limit'] }),
    tool('find', 'find', { pattern: 'pattern', path: 'path' }, { ignored: ['limit'] }),
    tool('list', 'ls', { path: 'path' }, { ignored: ['limit'] }),
  ],
  gemini: [
    tool('run', 'run_shell_command', { command: 'command', directory: 'dir_path' }, { ignored: ['description'] }),
    tool('read', 'read_file', { path: 'file_path' }),
    tool('write', 'write_file', { path: 'file_path', content: 'content' }),
    tool(
      'edit',
      'replace',
      { path: 'file_path', before: 'old_string', after: 'new_string', all: 'allow_multiple' },
      { ignored: ['instruction', 'expected_replacements'] },
    ),
    tool('search', 'grep_search', { pattern: 'pattern', path: 'dir_path' }),
    tool('search', 'search_file_content', { pattern: 'pattern', path: 'path' }, { isOld: true }),
    tool('find', 'glob', { pattern: 'pattern', path: 'dir_path' }),
    tool('list', 'list_directory', { path: 'dir_path' }),
  ],
}

/** A call of a tool. */
export interface NamedCall {
  readonly name: string
  readonly input: Arguments
}

const fieldsOf = (each: Tool): [argument: string, field: string][] => Object.entries(each.fields)

/** The action of a call; undefined if the tool is unknown or an argument of it is. */
function actOf(call: NamedCall, tools: readonly Tool[]): (Act & { readonly ignored: readonly string[] }) | undefined {
  const found = tools.find(({ name }) => name === call.name)
  if (found === undefined) return undefined
  const known = new Map(fieldsOf(found).map(([argument, field]) => [field, argument]))
  const values: Record<string, unknown> = {}
  const ignored: string[] = []
  for (const [field, value] of Object.entries(call.input)) {
    const argument = known.get(field)
    if (argument === undefined) {
      if (found.ignored?.includes(field) !== true) return undefined
      ignored.push(field)
      continue
    }
    const decode = found.decode?.[field]
    const decoded = decode === undefined ? value : decode(value)
    if (decoded === undefined) return undefined
    // The default of such an argument: nothing to write.
    if (decoded !== false) values[argument] = decoded
  }
  return { action: found.action, arguments: values, ignored }
}

/** A call as a tool of these; undefined if each of them lacks an argument of the action. */
function callOf({ action, arguments: values }: Act, tools: readonly Tool[]): NamedCall | undefined {
  for (const each of tools) {
    if (each.action !== action || each.isOld === true) continue
    const fields = new Map(fieldsOf(each))
    const entries = Object.entries(values).map(([argument, value]) => [fields.get(argument), value] as const)
    if (entries.every(([field]) => field !== undefined))
      return { name: each.name, input: Object.fromEntries(entries.map(([field, value]) => [String(field), value])) }
  }
  return undefined
}

/** A translated call, and the names of the arguments that were left out. */
export interface TranslatedCall extends NamedCall {
  readonly ignored: readonly string[]
}

/**
 * A call for the target program: unchanged if it has the same tool, translated if it has one for the same action,
 * undefined otherwise.
 * @param from the program that made the call; undefined if no known program did
 */
export function translated(call: NamedCall, from: string | undefined, to: string): TranslatedCall | undefined {
  if (from === to) return { ...call, ignored: [] }
  const target = TOOLS[to] ?? []
  const ownAct = from === undefined ? actOf(call, target) : undefined
  if (ownAct !== undefined) return { ...call, ignored: [] }
  const act = from === undefined ? undefined : actOf(call, TOOLS[from] ?? [])
  const made = act === undefined ? undefined : callOf(act, target)
  return made === undefined ? undefined : { ...made, ignored: act?.ignored ?? [] }
}
