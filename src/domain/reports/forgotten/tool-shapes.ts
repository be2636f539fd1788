/**
 * The tools that programs give their agents: what each does, and which of its arguments say to what.
 *
 * To add a tool, put its name into the row that does what it does (letters and digits alone, in lower case: `read_file`
 * is `readfile`), or add a row where its arguments have other names. A tool that does one thing or another by an
 * argument has a row with `by`. A tool that is in no row is compared by its name and all its arguments, and counts as
 * one that only reads where a word of its name says so.
 */

/** What a call of a tool is for. */
export type ToolUse =
  /** Shows what a file has in it. */
  | 'read'
  /** Looks for something: in files, in folders, in a catalogue. */
  | 'search'
  /** Asks the web. */
  | 'web'
  /** Runs a command; the command tells the rest. */
  | 'shell'
  /** Changes a file. */
  | 'write'
  /** Asks the user. */
  | 'ask'
  /** Gives work to another agent. */
  | 'agent'
  /** Waits for something that runs, or looks how far it is. */
  | 'wait'
  /** Notes of the agent to itself, and words to the program: nothing is found out by them. */
  | 'note'

/** Some tools that do the same. */
export interface ToolShape {
  readonly names: readonly string[]
  readonly use: ToolUse
  /** An argument by which the use is another one. */
  readonly by?: { readonly argument: string; readonly values: Readonly<Record<string, ToolUse>> }
  /** Arguments that say to what, the first that is there. */
  readonly subject: readonly string[]
}

const PATHS = [
  'file_path',
  'filePath',
  'path',
  'absolute_path',
  'filename',
  'file',
  'target_file',
  'notebook_path',
  'relative_path',
  'file_name',
]

export const TOOL_SHAPES: readonly ToolShape[] = [
  {
    names: [
      'read',
      'readfile',
      'view',
      'viewfile',
      'cat',
      'open',
      'openfile',
      'notebookread',
      'getfilecontents',
      'readtextfile',
      'fsread',
    ],
    use: 'read',
    subject: PATHS,
  },
  {
    names: ['strreplaceeditor', 'strreplacebasededittool', 'fileeditor', 'texteditor', 'editor'],
    use: 'write',
    by: { argument: 'command', values: { view: 'read' } },
    subject: PATHS,
  },
  {
    names: [
      'write',
      'writefile',
      'writetofile',
      'create',
      'createfile',
      'savefile',
      'edit',
      'editfile',
      'multiedit',
      'replace',
      'replaceinfile',
      'strreplace',
      'insert',
      'insertcontent',
      'applypatch',
      'applydiff',
      'patch',
      'notebookedit',
      'searchandreplace',
      'deletefile',
      'movefile',
      'renamefile',
      'fswrite',
    ],
    use: 'write',
    subject: PATHS,
  },
  {
    names: [
      'grep',
      'rg',
      'multigrep',
      'searchfiles',
      'searchfilecontent',
      'grepsearch',
      'codesearch',
      'codebasesearch',
      'searchdir',
      'searchfile',
      'toolsearch',
      'search',
    ],
    use: 'search',
    subject: ['pattern', 'regex', 'query', 'patterns', 'search_term'],
  },
  {
    names: [
      'glob',
      'find',
      'findfile',
      'filesearch',
      'globfilesearch',
      'listfiles',
      'listdirectory',
      'listdir',
      'ls',
      'list',
    ],
    use: 'search',
    subject: ['pattern', 'path', 'file_name', 'dir_path', 'directory'],
  },
  {
    names: ['websearch', 'googlewebsearch', 'webfetch', 'fetch', 'fetchurl', 'readurl', 'browsersearch'],
    use: 'web',
    subject: ['url', 'query', 'prompt'],
  },
  {
    names: [
      'bash',
      'shell',
      'exec',
      'execcommand',
      'runshellcommand',
      'terminal',
      'executecommand',
      'runterminalcmd',
      'runcommand',
      'powershell',
      'localshell',
      'localshellcall',
      'executebash',
      'containerexec',
    ],
    use: 'shell',
    subject: ['command', 'cmd', 'script'],
  },
  {
    names: ['askuserquestion', 'askfollowupquestion', 'askuser', 'question', 'requestuserinput', 'askquestion'],
    use: 'ask',
    subject: ['questions', 'question', 'prompt'],
  },
  {
    names: [
      'task',
      'agent',
      'spawnagent',
      'newtask',
      'delegate',
      'dispatchagent',
      'subagent',
      'runsubagent',
      'collaborate',
    ],
    use: 'agent',
    subject: ['description', 'prompt', 'message', 'instructions'],
  },
  {
    names: [
      'bashoutput',
      'taskoutput',
      'agentoutput',
      'agentoutputtool',
      'writestdin',
      'wait',
      'waitagent',
      'sleep',
      'killshell',
      'killbash',
      'taskstop',
      'closeagent',
    ],
    use: 'wait',
    subject: ['bash_id', 'task_id', 'agent_id', 'shell_id', 'session_id', 'id'],
  },
  {
    names: [
      'todowrite',
      'todoread',
      'updateplan',
      'updatetodolist',
      'tasktracker',
      'taskcreate',
      'taskupdate',
      'tasklist',
      'taskget',
      'think',
      'exitplanmode',
      'enterplanmode',
      'enterworktree',
      'skill',
      'attemptcompletion',
      'finish',
      'submit',
      'sendmessage',
      'savememory',
      'writetodos',
    ],
    use: 'note',
    subject: ['description', 'subject', 'skill', 'plan', 'thought'],
  },
]

/** Words by which an unknown tool says that it changes nothing. */
const READS = new Set(
  'read view cat list ls glob grep search find fetch get lookup query check calculate describe show count'.split(' '),
)
/** Words by which it says that it does. */
const CHANGES = new Set(
  'write edit create patch replace update insert append delete remove rename move mkdir save upload book cancel send modify commit add set apply start stop run execute call navigate click resize close open transfer post put javascript'.split(
    ' ',
  ),
)

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
const shapes: ReadonlyMap<string, ToolShape> = new Map(
  TOOL_SHAPES.flatMap((shape) => shape.names.map((name) => [name, shape])),
)

const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/(?<=[a-z])(?=[A-Z])/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)

/** The row of a tool; undefined for a tool that is in none. */
export const shapeOf = (name: string): ToolShape | undefined => shapes.get(lettersOf(name))

/** Whether a tool that is in no row says by its name that it only looks something up. */
export function seemsToRead(name: string): boolean {
  const words = wordsOf(name)
  return words.some((word) => READS.has(word)) && !words.some((word) => CHANGES.has(word))
}
