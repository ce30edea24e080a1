/* A server: eight threads with a stream each answer requests from a queue.
 *
 *     server [--us N] [--bursts N]
 *
 * A client thread puts 16 requests at a time into the queue and waits until all are answered. A
 * worker takes one, copies its numbers to the GPU, runs alpha_kernel (N us) and beta_kernel (60
 * us), copies them back, waits for its stream and works 20 us on the answer. Workers 1, 3, 5 and 7
 * do the GPU's part with a CUDA graph. The main thread is in pthread_join:
 *
 *     client   puts 16 |---- waits ----| puts 16 |---- waits ----|
 *     worker   waits |= request =|= request =| waits |= request =| ...
 *
 * Half of --us is half of alpha_kernel's time. What is served lies between cudaProfilerStart and
 * Stop. Prints the requests and the time by the host's clock; answers that are wrong end it.
 * The zoo's line of truth has the time of a request, from its first CUDA call to the end of its
 * wait.
 */
#include <cuda_profiler_api.h>
#include <pthread.h>

#include "../zoo/truth.h"
#include "spin.cuh"

enum { WORKERS = 8, BURST = 16, NUMBERS = 1024 };

static const double beta_us = 60, host_us = 20;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t arrived, answered;
    int waiting; /* requests that nobody has taken */
    int open;    /* requests that are not answered */
    int next;    /* number of the next request */
    bool closed;
} queue;
static pthread_barrier_t ready, go;
static long long alpha_cycles, beta_cycles;
static int bursts;
static double *request_us; /* by number of the request */

__global__ void alpha_kernel(int *numbers, long long cycles)
{
    spin(cycles);
    numbers[blockIdx.x * blockDim.x + threadIdx.x] *= 3;
}

__global__ void beta_kernel(int *numbers, long long cycles)
{
    spin(cycles);
    numbers[blockIdx.x * blockDim.x + threadIdx.x] += 7;
}

/* ---- Workers ---- */

struct worker {
    bool as_graph;
    cudaStream_t stream;
    cudaGraphExec_t graph;
    int *host; /* pinned */
    int *device;
    int requests;
};

static void run_on_gpu(struct worker *worker)
{
    const size_t bytes = NUMBERS * sizeof(int);

    CHECK(cudaMemcpyAsync(worker->device, worker->host, bytes, cudaMemcpyHostToDevice,
                          worker->stream));
    alpha_kernel<<<NUMBERS / 256, 256, 0, worker->stream>>>(worker->device, alpha_cycles);
    CHECK(cudaGetLastError());
    beta_kernel<<<NUMBERS / 256, 256, 0, worker->stream>>>(worker->device, beta_cycles);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(worker->host, worker->device, bytes, cudaMemcpyDeviceToHost,
                          worker->stream));
}

static void set_up(struct worker *worker)
{
    cudaGraph_t graph;

    CHECK(cudaStreamCreateWithFlags(&worker->stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&worker->host, NUMBERS * sizeof(int)));
    CHECK(cudaMalloc(&worker->device, NUMBERS * sizeof(int)));
    memset(worker->host, 0, NUMBERS * sizeof(int));
    if (worker->as_graph) {
        CHECK(cudaStreamBeginCapture(worker->stream, cudaStreamCaptureModeThreadLocal));
        run_on_gpu(worker);
        CHECK(cudaStreamEndCapture(worker->stream, &graph));
        CHECK(cudaGraphInstantiate(&worker->graph, graph, 0));
        CHECK(cudaGraphLaunch(worker->graph, worker->stream));
    } else {
        run_on_gpu(worker);
    }
    CHECK(cudaStreamSynchronize(worker->stream));
}

static void answer(struct worker *worker, int number)
{
    for (int i = 0; i < NUMBERS; i++)
        worker->host[i] = number + i;
    double asked = now_us();
    if (worker->as_graph)
        CHECK(cudaGraphLaunch(worker->graph, worker->stream));
    else
        run_on_gpu(worker);
    CHECK(cudaStreamSynchronize(worker->stream));
    request_us[number] = now_us() - asked;
    for (int i = 0; i < NUMBERS; i++) {
        if (worker->host[i] != 3 * (number + i) + 7) {
            fprintf(stderr, "request %d: a wrong answer\n", number);
            exit(1);
        }
    }
    for (double begin = now_us(); now_us() - begin < host_us;)
        ;
    worker->requests++;
}

/* The number of a request; -1: no more will come. */
static int take_request(void)
{
    int number = -1;

    pthread_mutex_lock(&queue.mutex);
    while (!queue.waiting && !queue.closed)
        pthread_cond_wait(&queue.arrived, &queue.mutex);
    if (queue.waiting) {
        queue.waiting--;
        number = queue.next++;
    }
    pthread_mutex_unlock(&queue.mutex);
    return number;
}

static void request_done(void)
{
    pthread_mutex_lock(&queue.mutex);
    if (!--queue.open)
        pthread_cond_signal(&queue.answered);
    pthread_mutex_unlock(&queue.mutex);
}

static void *work(void *argument)
{
    struct worker *worker = (struct worker *)argument;

    set_up(worker);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&go);
    for (int number; (number = take_request()) >= 0;) {
        answer(worker, number);
        request_done();
    }
    return NULL;
}

/* ---- The client ---- */

static void *ask(void *)
{
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&go);
    for (int i = 0; i < bursts; i++) {
        pthread_mutex_lock(&queue.mutex);
        queue.waiting += BURST;
        queue.open += BURST;
        pthread_cond_broadcast(&queue.arrived);
        while (queue.open)
            pthread_cond_wait(&queue.answered, &queue.mutex);
        pthread_mutex_unlock(&queue.mutex);
    }
    pthread_mutex_lock(&queue.mutex);
    queue.closed = true;
    pthread_cond_broadcast(&queue.arrived);
    pthread_mutex_unlock(&queue.mutex);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[WORKERS];
    pthread_t threads[WORKERS + 1];
    double per_us = cycles_per_us();
    int requests = 0;

    bursts = option(argc, argv, "--bursts", 100);
    request_us = (double *)calloc((size_t)(bursts > 0 ? bursts : 1) * BURST, sizeof *request_us);
    if (!request_us)
        return 1;
    alpha_cycles = (long long)(option(argc, argv, "--us", 200) * per_us);
    beta_cycles = (long long)(beta_us * per_us);
    pthread_mutex_init(&queue.mutex, NULL);
    pthread_cond_init(&queue.arrived, NULL);
    pthread_cond_init(&queue.answered, NULL);
    pthread_barrier_init(&ready, NULL, WORKERS + 2);
    pthread_barrier_init(&go, NULL, WORKERS + 2);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].as_graph = i % 2;
        if (pthread_create(&threads[i], NULL, work, &workers[i]))
            return 1;
    }
    if (pthread_create(&threads[WORKERS], NULL, ask, NULL))
        return 1;
    pthread_barrier_wait(&ready);

    CHECK(cudaProfilerStart());
    double begin = now_us();
    pthread_barrier_wait(&go);
    for (int i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
    double end = now_us();
    CHECK(cudaProfilerStop());

    for (int i = 0; i < WORKERS; i++)
        requests += workers[i].requests;
    printf("loop_us %.1f\nrequests %d\n", end - begin, requests);
    say_truth("request", request_us, requests, 2 * requests);
    return requests != bursts * BURST;
}
