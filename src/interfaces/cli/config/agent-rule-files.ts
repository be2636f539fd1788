/** The rule files that coding agents load by themselves, such as CLAUDE.md and AGENTS.md, as they are on this machine. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { importers, titleOfProgram } from '../../../application/importers/index.js'
import { MOST_OF_RULE_FILE } from '../../../domain/rules/rule.js'
import { isInFolder, type Environment } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import type { RuleFile } from '../../../library/ledger.js'

/** Where a program looks for its rule files. */
interface Places {
  /** Paths in a project. Of each list, the first file that exists counts. */
  readonly inProject: readonly (readonly string[])[]
  /** Directories in a project: every Markdown file in them counts. */
  readonly folders?: readonly string[]
  /** Whether a line such as `@docs/rules.md` in a file inserts another one. */
  readonly inserts?: true
  /** Whether it looks in every directory above the project, not only in those of its repository. */
  readonly looksAbove?: true
  /** Paths of the user, for all projects. Of each list, the first file that exists counts. */
  readonly ofUser?: (environment: Environment, home: string) => readonly (readonly string[])[]
}

const AGENTS = [['AGENTS.md']]
const CLAUDE: Places = {
  inProject: [['CLAUDE.md'], ['.claude/CLAUDE.md'], ['CLAUDE.local.md']],
  folders: ['.claude/rules'],
  inserts: true,
  looksAbove: true,
  ofUser: (environment, home) => [[join(agentFolders.claudeCode(environment, home), 'CLAUDE.md')]],
}
const CODEX: Places = {
  inProject: [['AGENTS.override.md', 'AGENTS.md']],
  ofUser: (environment, home) => [
    ['AGENTS.override.md', 'AGENTS.md'].map((name) => join(agentFolders.codex(environment, home), name)),
  ],
}

/** By the name of the importer. A program that is not here has no rule files, or the user names them in its settings. */
const PLACES: Readonly<Record<string, Places>> = {
  'claude-code': CLAUDE,
  'claude-code-stream': CLAUDE,
  codex: CODEX,
  'codex-exec': CODEX,
  gemini: {
    inProject: [['GEMINI.md']],
    inserts: true,
    ofUser: (environment, home) => [[join(agentFolders.gemini(environment, home), 'GEMINI.md')]],
  },
  opencode: {
    inProject: [['AGENTS.md', 'CLAUDE.md']],
    ofUser: (environment, home) => [
      [
        join(agentFolders.opencodeSettings(environment, home), 'AGENTS.md'),
        join(agentFolders.claudeCode(environment, home), 'CLAUDE.md'),
      ],
    ],
  },
  pi: {
    inProject: [['AGENTS.md', 'CLAUDE.md']],
    looksAbove: true,
    ofUser: (environment, home) => [[join(agentFolders.pi(environment, home), 'AGENTS.md')]],
  },
  qwen: { inProject: [['QWEN.md']], ofUser: (_environment, home) => [[join(home, '.qwen', 'QWEN.md')]] },
  cursor: { inProject: [...AGENTS, ['.cursorrules']], folders: ['.cursor/rules'] },
  'copilot-cli': { inProject: [...AGENTS, ['.github/copilot-instructions.md']], folders: ['.github/instructions'] },
  'vscode-copilot': { inProject: [...AGENTS, ['.github/copilot-instructions.md']], folders: ['.github/instructions'] },
  cline: { inProject: [...AGENTS, ['.clinerules']], folders: ['.clinerules'] },
  roo: { inProject: [...AGENTS, ['.roorules']], folders: ['.roo/rules'] },
  amp: { inProject: [['AGENTS.md', 'AGENT.md', 'CLAUDE.md']], looksAbove: true },
  kimi: { inProject: AGENTS },
  goose: { inProject: [...AGENTS, ['.goosehints']] },
  crush: { inProject: [...AGENTS, ['CRUSH.md']] },
  zed: { inProject: [['.rules', '.cursorrules', 'AGENTS.md', 'CLAUDE.md']] },
}

/** The programs whose rule files are known, by their titles. */
export const programsWithRuleFiles = (): string[] => [
  ...new Set(importers.flatMap(({ program, title }) => (program in PLACES ? [title] : []))),
]

/** A session whose rule files are wanted. */
export interface AgentSession {
  /** The program that wrote it. */
  readonly program?: string | undefined
  /** Its project folder. */
  readonly project?: string | undefined
}

const isThere = async (path: string): Promise<boolean> =>
  await stat(path).then(
    () => true,
    () => false,
  )

/** The directories from the project's own up, as far as the program looks. */
async function foldersAbove(project: string, looksAbove: boolean): Promise<string[]> {
  const all: string[] = []
  for (let folder = project; ; folder = dirname(folder)) {
    all.push(folder)
    if (!looksAbove && (await isThere(join(folder, '.git')))) return all
    if (dirname(folder) === folder) break
  }
  // Without a repository, only the project's own directory counts.
  return looksAbove ? all : [project]
}

/** The Markdown files in a directory. Cursor's end in `.mdc`. */
const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => []))
    .filter((name) => /\.mdc?$/iu.test(name))
    .toSorted()
    .map((name) => join(folder, name))

/** The text of a regular file and the time of its last change; undefined if it cannot be read or is too large. */
async function readText(path: string): Promise<{ readonly text: string; readonly changedAt: string } | undefined> {
  try {
    const file = await stat(path)
    // A pipe would wait for ever.
    if (!file.isFile() || file.size > MOST_OF_RULE_FILE) return undefined
    return { text: await readFile(path, 'utf8'), changedAt: file.mtime.toISOString() }
  } catch {
    return undefined
  }
}

/** A line that inserts another file. */
const INSERTED = /^@(?<path>[^\s@]+)$/u
const FENCE = /^\s*(?:```|~~~)/u

/** The files that a file inserts. Only those in its own directory: another one is not the project's. */
function insertedIn(path: string, text: string): string[] {
  let isCode = false
  return text.split(/\r?\n/u).flatMap((line) => {
    if (FENCE.test(line)) isCode = !isCode
    const named = isCode ? undefined : INSERTED.exec(line.trim())?.groups?.['path']
    const inserted = named === undefined ? undefined : join(dirname(path), named)
    return inserted !== undefined && isInFolder(inserted, dirname(path)) ? [inserted] : []
  })
}

const FRONT_MATTER = /^---\r?\n(?<fields>[^]*?)\r?\n---/u
/** Fields by which Cursor, Copilot and Claude Code limit a file to some paths, or leave it to the model. */
const LIMITED = /^(?:globs|paths|applyTo):\s*(?!["']?\*\*(?:\/\*)?["']?\s*$)\S|^paths:\s*$|^alwaysApply:\s*false/imu

/** Whether a program loads a file only for some work. */
const isLimited = (text: string): boolean => {
  const fields = FRONT_MATTER.exec(text)?.groups?.['fields'] ?? ''
  return LIMITED.test(fields) && !/^alwaysApply:\s*true/imu.test(fields)
}

/**
 * The rule files that the program of a session loads into every context, by their paths, those of the user first. Nothing
 * if the program has none, or if its project is not on this machine.
 */
export async function agentRuleFiles(
  { program = '', project }: AgentSession,
  environment: Environment,
  home: string,
): Promise<ReadonlyMap<string, RuleFile>> {
  const places = PLACES[program]
  const found = new Map<string, RuleFile>()
  if (places === undefined || project === undefined || !(await isThere(project))) return found
  const nameOf = (path: string): string => {
    const name = isInFolder(path, project)
      ? relative(project, path)
      : isInFolder(path, home)
        ? join('~', relative(home, path))
        : path
    return name.split(sep).join('/')
  }
  const readWith = async (path: string): Promise<void> => {
    const read = found.has(path) ? undefined : await readText(path)
    if (read === undefined || isLimited(read.text)) return
    found.set(path, { name: nameOf(path), ...read, loadedBy: titleOfProgram(program) })
    if (places.inserts === true) for (const inserted of insertedIn(path, read.text)) await readWith(inserted)
  }
  const take = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      await readWith(path)
      if (found.has(path)) return
    }
  }
  for (const paths of places.ofUser?.(environment, home) ?? []) await take(paths)
  for (const folder of (await foldersAbove(project, places.looksAbove === true)).toReversed()) {
    for (const names of places.inProject) await take(names.map((name) => join(folder, name)))
    for (const name of places.folders ?? []) for (const path of await filesIn(join(folder, name))) await take([path])
  }
  return found
}
