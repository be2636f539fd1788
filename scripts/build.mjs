/**
 * Builds the program into `dist`: esbuild bundles the JavaScript, and the compiler checks the types and writes their
 * declarations, which `--without-types` omits (the program runs the same). In parallel, it creates the template of an
 * empty database that src/adapters/pglite/database-template.ts loads, if `dist` has none for this version of the engine. Other
 * arguments of the command are passed to the compiler.
 */
import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { createEmptyDatabase } from './empty-database.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

async function makeTemplate() {
  const require = createRequire(import.meta.url)
  const { version } = JSON.parse(
    await readFile(join(dirname(dirname(require.resolve('@electric-sql/pglite'))), 'package.json'), 'utf8'),
  )
  const name = `pglite-${version}.template`
  if (existsSync(join(dist, name))) return
  const db = await createEmptyDatabase()
  const archive = Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer())
  await db.close()
  // A window over the whole archive.
  const packed = await promisify(brotliCompress)(archive, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: archive.length,
    },
  })
  await mkdir(dist, { recursive: true })
  // Another build may do the same concurrently; whichever is last leaves an equivalent file.
  const draft = join(dist, `${name}.${String(process.pid)}`)
  await writeFile(draft, Buffer.concat([createHash('sha256').update(packed).digest(), packed]))
  await rename(draft, join(dist, name))
  for (const old of await readdir(dist))
    if (/^pglite-.*\.template$/u.test(old) && old !== name) await rm(join(dist, old), { force: true })
}

const words = process.argv.slice(2).filter((word) => word !== '--without-types')
const withTypes = !process.argv.includes('--without-types')
const types = join(dist, 'types')
const GUARD = 'src/interfaces/cli/hook/guard-main.ts'
/** Code that several entry points share, or import when they run. */
const CHUNKS = 'src/chunks'
/** Files for browsers. */
const assets = join(dist, 'src/interfaces/page/assets')

function runCompiler() {
  const compiler = spawn(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      join(root, 'tsconfig.build.json'),
      '--emitDeclarationOnly',
      ...words,
    ],
    { stdio: 'inherit' },
  )
  return new Promise((resolve, reject) => {
    compiler.once('error', reject)
    compiler.once('exit', (status) => {
      resolve(status ?? 1)
    })
  })
}

const entries = () => [
  'src/index.ts',
  'src/interfaces/client/index.ts',
  'src/interfaces/proxy/index.ts',
  ...['ai-sdk', 'claude-agent-sdk', 'langchain', 'openai-agents'].map((sdk) => `src/interfaces/sdk/${sdk}/index.ts`),
  'src/interfaces/cli/main.ts',
  'src/interfaces/cli/start.ts',
  // Started by its path.
  'src/library/row-thread-main.ts',
  'src/interfaces/cli/resident-main.ts',
  'src/interfaces/cli/hook/main.ts',
  'src/interfaces/cli/hook/worker-main.ts',
  'src/interfaces/cli/acp/recorder-main.ts',
  'src/interfaces/cli/hook/compact-main.ts',
  'src/interfaces/cli/hook/guarded-rules.ts',
  'src/interfaces/cli/hook/second-look.ts',
]

/** Checks the types, and writes the declarations that the package needs. Returns the status of the compiler. */
async function writeTypes() {
  let status = await runCompiler()
  if (status === 0 && !(await pruneTypes())) {
    // An incremental build does not write again what an earlier one deleted.
    await rm(join(dist, '.tsbuildinfo'), { force: true })
    status = await runCompiler()
    if (status === 0) await pruneTypes()
  }
  if (status === 0) await describeOptions()
  return status
}

const CALLS = 'src/schema/calls'
const SETTINGS = 'src/domain/values/policy-settings'

/**
 * Writes the descriptions of options and settings into the declarations, where editors look for them. The sources state
 * a description once, as data of the call or the setting.
 */
async function describeOptions() {
  const modules = (await readdir(join(root, CALLS))).map((file) => basename(file, '.ts'))
  const bundle = join(dist, `calls-${String(process.pid)}.mjs`)
  await build({
    stdin: {
      contents: [
        `export { aboutOption } from './src/schema/call.ts'`,
        `export { policySettings } from './${SETTINGS}.ts'`,
        ...modules.map((name) => `export * as ${name.replaceAll('-', '_')} from './${CALLS}/${name}.ts'`),
      ].join('\n'),
      resolveDir: root,
    },
    outfile: bundle,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  })
  const { aboutOption, policySettings, ...calls } = await import(pathToFileURL(bundle).href).finally(() => rm(bundle))
  for (const name of modules)
    await describeFields(join(CALLS, name), (declared) => {
      const value = calls[name.replaceAll('-', '_')][declared]
      const shape = typeof value === 'function' ? value() : value.options()
      return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, aboutOption(schema).description]))
    })
  await describeFields(SETTINGS, (declared) =>
    declared === 'policySettings'
      ? Object.fromEntries(
          Object.entries(policySettings).map(([key, { description, byDefault }]) => [
            key,
            `${description}. Default: ${byDefault}`,
          ]),
        )
      : {},
  )
}

/** Writes descriptions before the fields of the objects that a module declares. */
async function describeFields(module, descriptionsOf) {
  const file = join(types, `${module}.d.ts`)
  let descriptions = {}
  const described = (await readFile(file, 'utf8')).split('\n').flatMap((line) => {
    if (line.startsWith('}')) descriptions = {}
    const declared = /^export declare const (\w+)/u.exec(line)?.[1]
    if (declared !== undefined) descriptions = descriptionsOf(declared)
    // The description of an earlier build.
    if (Object.keys(descriptions).length > 0 && /^ {4}\/\*\* .* \*\/$/u.test(line)) return []
    const field = /^ {4}(\w+): /u.exec(line)?.[1]
    return field !== undefined && Object.hasOwn(descriptions, field)
      ? [`    /** ${descriptions[field]}. */`, line]
      : [line]
  })
  await writeFile(file, described.join('\n'))
}

/**
 * Keeps the declarations of what the entry points export, and of what these name, and deletes the others. Returns false
 * if one of them is missing.
 */
async function pruneTypes() {
  const pending = entries()
    .filter((file) => file.endsWith('index.ts'))
    .map((file) => file.replace(/\.ts$/u, '.d.ts'))
  const kept = new Set(pending)
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (!existsSync(join(types, file))) return false
    const text = await readFile(join(types, file), 'utf8')
    for (const [, module] of text.matchAll(/(?:from |import\()["'](\.[^"']+)\.js["']/gu)) {
      const named = join(dirname(file), `${module}.d.ts`)
      if (!kept.has(named)) pending.push(named)
      kept.add(named)
    }
  }
  for (const file of await readdir(types, { recursive: true }))
    if (file.endsWith('.d.ts') && !kept.has(file)) await rm(join(types, file))
  return true
}

async function writeJavaScript() {
  await forNode()
  await Promise.all([webClient(), licences(), examples(), forBrowsers()])
}

/**
 * Packages that are bundled, because Node.js would load some hundred files of them, and an installed one has much that the
 * program does not use: the engine alone 11 MB, highlight.js 9 MB, the MCP server 8 MB. They keep no state, so a copy of
 * the host's own does not matter. They are development dependencies, except zod and fp-ts. All others stay external.
 */
const BUNDLED = [
  '@electric-sql/pglite',
  '@electric-sql/pglite-pgvector',
  '@eventstore/db-client',
  '@grpc/grpc-js',
  '@hono/node-server',
  '@hono/zod-openapi',
  '@modelcontextprotocol/server',
  '@noble/hashes',
  '@opentelemetry/api',
  'async-mutex',
  'base64-js',
  'buffer',
  'canonicalize',
  'cli-progress',
  'diff',
  'fp-ts',
  'highlight.js',
  'hono',
  'ieee754',
  'jsonc-parser',
  'jsonrepair',
  'lru-cache',
  'markdown-it',
  'openai',
  'picocolors',
  'prom-client',
  'simple-ascii-chart',
  'stemmer',
  'string-width',
  'wrap-ansi',
  'yargs',
  'zod',
  // Dependencies of these.
  '@asteasolutions/zod-to-openapi',
  '@hono/zod-validator',
  '@js-sdsl/ordered-map',
  '@modelcontextprotocol/core',
  'ansi-regex',
  'ansi-styles',
  'bintrees',
  'cliui',
  'debug',
  'emoji-regex',
  'entities',
  'escalade',
  'get-caller-file',
  'get-east-asian-width',
  'google-protobuf',
  'is-fullwidth-code-point',
  'linkify-it',
  'mdurl',
  'ms',
  'openapi3-ts',
  'punycode.js',
  'strip-ansi',
  'tdigest',
  'uc.micro',
  'uuid',
  'y18n',
  'yaml',
  'yargs-parser',
]

/**
 * Packages that bundled ones import only in a function that the program does not call (statistics of gRPC channels), or
 * only if they are installed (colours of debug output).
 */
const UNUSED = ['@grpc/proto-loader', 'supports-color']

/** The files of the engine. It looks for them beside its code, which is in a chunk. */
const ENGINE_FILES = [
  'pglite/dist/pglite.wasm',
  'pglite/dist/pglite.data',
  'pglite/dist/initdb.wasm',
  'pglite-pgvector/dist/vector.tar.gz',
]

/**
 * Imports zod as a namespace. Only then does esbuild leave out what is not used, such as the messages of fifty languages.
 */
const importZodByParts = {
  name: 'import-zod-by-parts',
  setup({ onLoad }) {
    const loaders = { '.ts': 'ts', '.tsx': 'tsx', '.mjs': 'js' }
    onLoad({ filter: /\.tsx?$|zod-openapi.*\.mjs$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(/import \{ z \} from (['"]zod['"])/u, 'import * as z from $1'),
      loader: loaders[extname(path)],
    }))
  },
}

/** Copies the licences of what is bundled. */
async function licences() {
  await mkdir(join(dist, 'licences'), { recursive: true })
  for (const name of BUNDLED) {
    const folder = join(root, 'node_modules', name)
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/iu.test(entry))
    if (file !== undefined) await copyFile(join(folder, file), join(dist, 'licences', `${name.replace('/', '-')}.txt`))
  }
}

/**
 * The program in few files, because Node.js loads several hundred slowly. What several entry points share is in
 * `dist/src/chunks`, and what a command imports when it runs stays a file of its own.
 */
async function forNode() {
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const options = {
    outdir: dist,
    outbase: root,
    bundle: true,
    external: [
      ...UNUSED,
      ...Object.keys({ ...dependencies, ...peerDependencies }).flatMap((name) =>
        BUNDLED.includes(name) ? [] : [name, `${name}/*`],
      ),
    ],
    mainFields: ['module', 'main'],
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    // For the size of the package. Errors show the names of their classes, and a line that fits a terminal.
    minify: true,
    keepNames: true,
    lineLimit: 160,
    sourcemap: 'linked',
    sourcesContent: false,
    // Of bundled packages in CommonJS, which load modules of Node.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url)",
    },
    metafile: true,
    plugins: [importZodByParts],
    absWorkingDir: root,
  }
  const builds = await Promise.all([
    build({
      ...options,
      entryPoints: entries().map((file) => join(root, file)),
      chunkNames: `${CHUNKS}/[name]-[hash]`,
      splitting: true,
    }),
    // Before each call of an agent, this process starts: one file loads faster than its chunks.
    build({
      ...options,
      entryPoints: [join(root, GUARD)],
      external: [...options.external, './guarded-rules.js', './second-look.js'],
    }),
  ])
  const metafile = {
    inputs: Object.assign({}, ...builds.map((each) => each.metafile.inputs)),
    outputs: Object.assign({}, ...builds.map((each) => each.metafile.outputs)),
  }
  const packages = Object.keys(metafile.inputs).flatMap(
    (file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/u.exec(file)?.[1] ?? [],
  )
  const others = [...new Set(packages)].filter((name) => !BUNDLED.includes(name))
  if (others.length > 0) throw new Error(`bundled, and not named for it: ${others.join(', ')}`)
  await writeFile(join(dist, 'build-id'), await idOf(Object.keys(metafile.outputs)))
  // Files of earlier builds would be in the package too.
  const written = new Set(
    [...Object.keys(metafile.outputs), ...(await engineFiles(metafile))].map((file) => join(root, file)),
  )
  for (const file of await readdir(join(dist, 'src'), { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name)
    if (file.isFile() && file.parentPath !== assets && !written.has(path)) await rm(path, { force: true })
  }
}

/** Copies the files of the engine to its code. Returns their paths. */
async function engineFiles({ outputs }) {
  const folders = Object.entries(outputs)
    .filter(([, { inputs }]) => Object.keys(inputs).some((file) => file.includes('@electric-sql/pglite')))
    .map(([file]) => dirname(file))
  if (folders.some((folder) => folder !== join('dist', CHUNKS)))
    throw new Error(`the engine is in ${folders.join(' and ')}, so its files would be there too`)
  const files = ENGINE_FILES.map((file) => ({
    from: join(root, 'node_modules/@electric-sql', file),
    to: join('dist', CHUNKS, basename(file)),
  }))
  for (const { from, to } of files) await copyFile(from, join(root, to))
  return files.map(({ to }) => to)
}

/** Modules of Node, and what replaces each of them where there is no Node. */
const WITHOUT_NODE = { 'node:crypto': 'crypto.ts', 'node:timers/promises': 'timers.ts' }

/** Replaces the modules of Node. Any other one would fail in an edge runtime, and fails the build. */
const replaceNode = {
  name: 'replace-node',
  setup({ onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path, importer }) =>
      Object.hasOwn(WITHOUT_NODE, path)
        ? { path: join(root, 'src/interfaces/client/web', WITHOUT_NODE[path]) }
        : { errors: [{ text: `${importer} imports ${path}, which the client for edge runtimes cannot have` }] },
    )
  },
}

/** The client for edge runtimes and browsers: one file, without Node. */
async function webClient() {
  await build({
    entryPoints: [join(root, 'src/interfaces/client/index.ts')],
    outfile: join(dist, 'src/interfaces/client/web.js'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    mainFields: ['module', 'main'],
    target: 'es2022',
    minify: true,
    keepNames: true,
    lineLimit: 160,
    logLevel: 'warning',
    inject: [join(root, 'src/interfaces/client/web/buffer.ts')],
    plugins: [importZodByParts, replaceNode],
    absWorkingDir: root,
  })
}

/** An id of the program, from its version and files. A process uses a resident reader only if both have the same id. */
async function idOf(files) {
  const hash = createHash('sha256').update(await readFile(join(root, 'package.json')))
  for (const file of files.toSorted()) hash.update(file).update(await readFile(join(root, file)))
  return hash.digest('hex').slice(0, 32)
}

/** The examples as a user has them: they import the package by its name. */
async function examples() {
  const folder = join(root, 'examples')
  // The image is built without the examples.
  if (!existsSync(folder)) return
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'))
  await build({
    entryPoints: files.map((file) => join(folder, file)),
    outdir: join(dist, 'examples'),
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  })
}

/** The files that the page sends to a browser. */
async function forBrowsers() {
  const client = join(root, 'src/interfaces/page/client')
  await build({
    entryPoints: [join(client, 'page.ts'), join(client, 'page.css')],
    outdir: assets,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  })
  // Strangers read this script in the file that it verifies.
  await build({
    entryPoints: [join(client, 'evidence.ts'), join(client, 'evidence.css')],
    outdir: assets,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    charset: 'utf8',
    logLevel: 'warning',
  })
}

const checked = withTypes ? writeTypes() : Promise.resolve(0)
await writeJavaScript()
await makeTemplate().catch((error) => {
  // The program works without the template.
  console.warn(
    `no template of an empty database, so the first opening of a ledger takes some seconds more: ${error instanceof Error ? error.message : String(error)}`,
  )
})
process.exitCode = await checked
