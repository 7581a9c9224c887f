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
  },
  server: { proxy: { "/v1": server, "/sign-in": server, "/sign-out": server } },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
