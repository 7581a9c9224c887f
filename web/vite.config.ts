import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `mapi serve` listens while the pages are worked on with `npm run dev`. */
const server = process.env.MAPI_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../src/mapi/web",
    emptyOutDir: true,
    target: "es2023",
    // The page's policy forbids data: addresses for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What most pages have in common is a few files: each one more costs a browser and the server
        // a request, and they are asked for six at a time.
        codeSplitting: {
          groups: [
            { name: "kit", test: /node_modules/, minShareCount: 9 },
            {
              name: "common",
              // The renderer of notes is large, and few pages have one.
              test: /[\\/]src[\\/](api|base|state|widgets)[\\/](?!markdown)/,
              minShareCount: 5,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "/v1": server, "/sign-in": server, "/sign-out": server } },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
