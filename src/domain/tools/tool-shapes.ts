/**
 * The tools that programs give their agents: the use of each, and the arguments that name its subject.
 *
 * To add a tool, put its name into the row with the same use (only letters and digits, in lower case: `read_file` is
 * `readfile`), or add a row if its arguments have other names. A tool whose use depends on an argument has a row with
 * `by`. A tool without a row is compared by its name and all its arguments; a word in its name decides whether it only
 * reads.
 */

/** The use of a tool. */
export type ToolUse =
  /** Reads a file. */
  | 'read'
  /** Searches in files, in folders or in a catalogue. */
  | 'search'
  /** Queries the web. */
  | 'web'
  /** Runs a command. The command determines the effect. */
  | 'shell'
  /** Changes a file. */
  | 'write'
  /** Asks the user. */
  | 'ask'
  /** Delegates work to another agent. */
  | 'agent'
  /** Waits for something that runs, or checks its progress. */
  | 'wait'
  /** Notes of the agent to itself, or messages to the program. They return no information. */
  | 'note'

/** Tools with the same use. */
export interface ToolShape {
  readonly names: readonly string[]
  readonly use: ToolUse
  /** An argument that changes the use. */
  readonly by?: { readonly argument: string; readonly values: Readonly<Record<string, ToolUse>> }
  /** Arguments that name the subject; the first one that is set counts. */
  readonly subject: readonly string[]
}

/** Arguments that name a file. */
export const PATH_ARGUMENTS = [
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

/** Arguments of tools that change a file: the text before and after, the whole text, or a patch. */
export const EDIT_ARGUMENTS = {
  before: ['old_string', 'oldString', 'old_str', 'oldText', 'old_text', 'old', 'search'],
  after: ['new_string', 'newString', 'new_str', 'newText', 'new_text', 'new', 'replace', 'new_source'],
  whole: ['content', 'file_text', 'contents', 'text'],
  patch: ['patch', 'input', 'value', 'diff', 'patchText', 'command', 'cmd'],
} as const

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
    subject: PATH_ARGUMENTS,
  },
  {
    names: ['strreplaceeditor', 'strreplacebasededittool', 'fileeditor', 'texteditor', 'editor'],
    use: 'write',
    by: { argument: 'command', values: { view: 'read' } },
    subject: PATH_ARGUMENTS,
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
    subject: PATH_ARGUMENTS,
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

/** Words in the name of an unknown tool that mean it only reads. */
const READS = new Set(
  'read view cat list ls glob grep search find fetch get lookup query check calculate describe show count'.split(' '),
)
/** Words that mean it changes something. */
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

/** The row of a tool, or undefined. */
export const shapeOf = (name: string): ToolShape | undefined => shapes.get(lettersOf(name))

/** Whether the name of a tool without a row indicates that it changes something. */
export const seemsToChange = (name: string): boolean => wordsOf(name).some((word) => CHANGES.has(word))

/** Whether the name of a tool without a row indicates that it only reads. */
export const seemsToRead = (name: string): boolean =>
  !seemsToChange(name) && wordsOf(name).some((word) => READS.has(word))
