/**
 * How jest reads TypeScript. A module that is in the script of the sources (source-bundle.mjs) becomes a stub, which
 * exports the same from there; others are compiled.
 */
import { build, transform } from 'esbuild'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isInScript } from './source-modules.mjs'

const sources = fileURLToPath(new URL('sources.mjs', import.meta.url))
const ownText = readFileSync(fileURLToPath(import.meta.url), 'utf8')

async function exportedNames(path) {
  const { metafile } = await build({ entryPoints: [path], outdir: 'unwritten', write: false, metafile: true })
  return Object.values(metafile.outputs).flatMap((output) => output.exports)
}

async function stub(path, module) {
  const names = await exportedNames(path)
  const lines = [
    `import { modules } from ${JSON.stringify(sources)}`,
    `const module = modules[${JSON.stringify(module)}]()`,
    ...names.map((name, index) => `const export${String(index)} = module.${name}`),
    `export { ${names.map((name, index) => `export${String(index)} as ${name}`).join(', ')} }`,
  ]
  return { code: lines.join('\n') }
}

export default {
  async processAsync(text, path, { config }) {
    const module = relative(config.rootDir, path)
    if (isInScript(module)) return await stub(path, module)
    return await transform(text, {
      sourcefile: path,
      loader: path.endsWith('x') ? 'tsx' : 'ts',
      format: 'esm',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'hono/jsx',
      sourcemap: 'inline',
    })
  },
  getCacheKey: (text, path, { configString }) =>
    createHash('sha256').update([ownText, text, path, configString].join('\0')).digest('hex'),
}
