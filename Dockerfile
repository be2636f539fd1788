# The service's own processes: the command line, built. `docker compose --profile workers build` makes it.
FROM node:24-bookworm-slim AS build
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY projections projections
COPY scripts/build.mjs scripts/empty-database.mjs scripts/
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /service
COPY --from=build /service/package.json ./
COPY --from=build /service/node_modules node_modules
COPY --from=build /service/dist dist
USER node
ENTRYPOINT ["node", "dist/src/interfaces/cli/main.js"]
