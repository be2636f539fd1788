/**
 * The package as shipped, in another project: packed by npm, and unpacked into a new folder together with the packages
 * that this repository has installed. No registry is used.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface PackedProject {
  readonly folder: string
  /** Writes files of the project, by their paths. */
  write(files: Readonly<Record<string, string>>): void
  /**
   * Compiles files as a strict project that also checks the types of its packages, and returns the errors in them and
   * in our types. Errors in the types of other packages are left out.
   */
  compile(files: readonly string[], options?: Readonly<Record<string, unknown>>): string[]
  run(command: readonly string[], env?: Readonly<Record<string, string>>): Run
  remove(): void
}

const STRICT = {
  target: 'ES2023',
  lib: ['ES2023'],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  types: ['node'],
  rootDir: '.',
  outDir: 'out',
}

function run(cwd: string, [program = '', ...args]: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    maxBuffer: 1 << 26,
    timeout: 100_000,
  })
  return { status, stdout, stderr }
}

/** Makes the project; the program has to be compiled. */
export function packedProject(): PackedProject {
  const folder = mkdtempSync(join(tmpdir(), 'context-ledger-packed-'))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  const packed = run(ROOT, ['npm', 'pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder])
  const unpacked = run(folder, ['tar', 'xzf', packed.stdout.trim().split('\n').at(-1) ?? ''])
  if (packed.status !== 0 || unpacked.status !== 0) throw new Error(`${packed.stderr}\n${unpacked.stderr}`)
  renameSync(join(folder, 'package'), join(modules, 'context-ledger'))
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
  }
  write({ 'package.json': JSON.stringify({ type: 'module', private: true }) })
  return {
    folder,
    write,
    compile(files, options = {}) {
      write({ 'tsconfig.json': JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files }) })
      const { stdout } = run(folder, [
        process.execPath,
        join(modules, 'typescript/bin/tsc'),
        '-p',
        '.',
        '--pretty',
        'false',
      ])
      // A message goes on in lines that begin with a space.
      const entries = stdout.split(/\n(?=\S)/u).filter((text) => text.trim() !== '')
      return entries.filter(
        (text) => text.startsWith('node_modules/context-ledger/') || !/^\S*node_modules\//u.test(text),
      )
    },
    run: (command, env) => run(folder, command, env),
    remove: () => {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
