/**
 * Installs programs into a cache outside the repository: one directory for each program and version, so that programs
 * share no dependencies and each version is installed once. `CONTEXT_LEDGER_PROGRAMS_CACHE` names another directory.
 */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { AgentProgram } from './agent.js'
import { runProcess } from './processes.js'

/** Programs that cannot be installed from a package registry alone. */
export const UNAVAILABLE: readonly { readonly title: string; readonly reason: string }[] = [
  { title: 'Amp', reason: 'works only with its vendor’s server' },
  { title: 'Crush', reason: 'its package downloads a binary from another host' },
]

/** The directory of installed programs and of results. */
export const cacheFolder = (): string =>
  process.env['CONTEXT_LEDGER_PROGRAMS_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'context-ledger-programs')

/** How a program is started. */
export interface Installed {
  /** Words before the arguments. */
  readonly command: readonly string[]
  /** The version of Node that runs it; undefined if it needs none. */
  readonly node: string | undefined
  /** `node_modules` of the program. */
  readonly modules: string
}

/** Installs a package once. Returns its `node_modules`, or the reason why it cannot be had. */
async function install(name: string, version: string): Promise<string | { readonly reason: string }> {
  const folder = join(cacheFolder(), `${name.replaceAll('/', '+')}@${version}`)
  const modules = join(folder, 'node_modules')
  if (existsSync(modules)) return modules
  const draft = `${folder}.${String(process.pid)}`
  await mkdir(draft, { recursive: true })
  await writeFile(join(draft, 'package.json'), JSON.stringify({ private: true }))
  const { status, stderr } = await runProcess(
    ['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', draft, `${name}@${version}`],
    { cwd: draft, env: withoutUndefined(process.env), limitMs: 600_000 },
  )
  if (status !== 0) {
    await rm(draft, { recursive: true, force: true })
    return { reason: `npm cannot install ${name}@${version}: ${stderr.trim().split('\n').at(-1) ?? ''}` }
  }
  await rename(draft, folder)
  return modules
}

const withoutUndefined = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

/** Installs a program. Returns the reason if it cannot be had. */
export async function installProgram({
  installation,
}: Pick<AgentProgram, 'installation'>): Promise<Installed | { readonly reason: string }> {
  const modules = await install(installation.package, installation.version)
  if (typeof modules !== 'string') return modules
  const binary = join(modules, installation.binary)
  if (!existsSync(binary)) return { reason: `${installation.package} has no ${installation.binary}` }
  if (!/\.[cm]?js$/u.test(binary)) return { command: [binary], node: undefined, modules }
  if (installation.needsNode24 !== true) return { command: [process.execPath, binary], node: process.version, modules }
  const node = await installNode24()
  return typeof node === 'string' ? { command: [node, binary], node: '24', modules } : node
}

/** The path of Node 24, which is installed if this process runs on an older one. */
export async function installNode24(): Promise<string | { readonly reason: string }> {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  const modules = await install('node', '24')
  return typeof modules === 'string' ? join(modules, 'node', 'bin', 'node') : modules
}
