/**
 * The sources as tests import them: one script, which a worker of jest runs once (environment.mjs). Jest would load their
 * 700 modules, and as many of the packages, one by one for each test file.
 *
 * A module of the program that a test imports is replaced by a stub (transform.mjs), which exports what the module
 * exports in the script. A module in the script runs when it is first needed.
 */
import { decode, encode } from '@jridgewell/sourcemap-codec'
import { build } from 'esbuild'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isInScript } from './source-modules.mjs'

const support = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(support))

export const scriptFile = join(root, 'dist', 'test', 'source.cjs')

/**
 * The name of the script in stacks of errors. Jest searches this file for the name of the source map,
 * and the script itself has 9 MB.
 */
export const nameInStacks = join(root, 'dist', 'test', 'source.stack.cjs')

/** Packages outside of the script: tests use the same copy, or they are large and few tests use them. */
const OUTSIDE = [
  '@eventstore/db-client',
  '@grpc/grpc-js',
  '@google-cloud/kms',
  '@aws-sdk/client-kms',
  '@azure/*',
  'google-protobuf',
  'pg',
  'highlight.js',
]

/** What tests replace in the sources: the engine, and the template that it starts from. */
const REPLACED = {
  '@electric-sql/pglite': join(support, 'pglite.ts'),
  './database-template.js': join(support, 'template.ts'),
}

const replaceEngine = {
  name: 'replace-engine',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:@electric-sql\/pglite|\.\/database-template\.js)$/ }, ({ path, importer }) =>
      importer.startsWith(join(root, 'src')) ? { path: REPLACED[path] } : undefined,
    )
    // The engine finds its files beside its modules.
    onLoad({ filter: /node_modules\/@electric-sql\/.+\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    }))
  },
}

const filesOf = (folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(root, folder, file))

/** Whether the script is newer than everything that it is made of. */
function isCurrent(files) {
  if (!existsSync(scriptFile) || !existsSync(nameInStacks)) return false
  const { mtimeMs } = statSync(scriptFile)
  const inputs = [...Object.values(REPLACED), fileURLToPath(import.meta.url), join(root, 'package-lock.json')]
  return [...files, ...inputs].every((file) => statSync(file).mtimeMs < mtimeMs)
}

/** Writes the script and its source map, unless they are current. */
export async function writeScript() {
  const files = [...filesOf('src'), ...filesOf('projections')]
  if (isCurrent(files)) return
  const modules = files
    .map((file) => relative(root, file))
    .filter(isInScript)
    .map((file) => `  ${JSON.stringify(file)}: () => require('./${file}'),`)
  const { outputFiles } = await build({
    stdin: { contents: ['module.exports = {', ...modules, '}'].join('\n'), resolveDir: root, loader: 'js' },
    outfile: scriptFile,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'es2022',
    mainFields: ['module', 'main'],
    external: OUTSIDE,
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    sourcemap: 'linked',
    sourcesContent: false,
    define: { 'import.meta.url': 'scriptUrl' },
    plugins: [replaceEngine],
    logLevel: 'warning',
  })
  await mkdir(dirname(scriptFile), { recursive: true })
  for (const { path, text } of outputFiles)
    await writeFile(path, path === scriptFile ? asFunction(text) : ofLines(text))
  await writeFile(nameInStacks, `//# sourceMappingURL=${basename(scriptFile)}.map\n`)
}

/**
 * A source map of lines, without the columns and the packages. Each test file that reads the stack of an error decodes
 * the map, and with the columns that takes a second.
 */
function ofLines(text) {
  const map = JSON.parse(text)
  const isOurs = map.sources.map((source) => !source.includes('node_modules/'))
  const lines = decode(map.mappings).map((segments) => {
    const first = segments.find(({ length, 1: source }) => length > 1 && isOurs[source])
    return first === undefined ? [] : [[0, ...first.slice(1, 4)]]
  })
  return JSON.stringify({ ...map, names: [], mappings: encode(lines) })
}

/** A script has no imports of its own: what is imported while it runs comes from the test file. */
const asFunction = (text) =>
  `(function (require, importModule, scriptUrl, module) {${text.replaceAll(/(?<![.\w])import\((?=["`])/gu, 'importModule(')}\n})`
